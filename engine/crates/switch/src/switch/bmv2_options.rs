// SPDX-License-Identifier: Apache-2.0
//! BMv2's command line: its options, and the two manners of reading them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches, ValueEnum};

use super::options::Args;
use slotwise_cli::notes::say;

/// The name that makes the command a drop-in for BMv2.
const BMV2_NAME: &str = "simple_switch_grpc";
const BMV2_FLAG: &str = "--bmv2-compat";
/// What BMv2 says: the newest of p4c's JSON formats that it knows, which the engine knows too.
const JSON_VERSION: &str = "2.23";

/// Program that the meaning and the defaults of options are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// `slotwise switch`.
    Slotwise,
    /// `simple_switch_grpc`.
    Bmv2,
}

/// Options of BMv2 that `slotwise switch` does not have by itself.
#[derive(clap::Args)]
pub struct Bmv2Options {
    #[arg(long, hide = true)]
    pub no_p4: bool,
    #[arg(long, hide = true)]
    pub log_console: bool,
    #[arg(long, hide = true, conflicts_with = "log_console")]
    pub log_file: Option<PathBuf>,
    #[arg(long, short = 'L', hide = true, value_enum, default_value_t = LogLevel::Trace)]
    pub log_level: LogLevel,
    #[arg(long, hide = true)]
    log_flush: bool,
    #[arg(long, hide = true, value_name = "BYTES", default_value_t = 5 << 20,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub log_file_max_size: u64,
    #[arg(long, hide = true, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(..=1000))]
    pub log_file_max_files: u32,
    #[arg(long, hide = true, value_name = "BYTES", default_value_t = 0)]
    pub dump_packet_data: usize,
    #[arg(long, hide = true)]
    debugger: bool,
    #[arg(long, hide = true)]
    debugger_addr: Option<String>,
    #[arg(long, hide = true)]
    enable_swap: bool,
    #[arg(long, hide = true)]
    disable_swap: bool,
    #[arg(long, hide = true)]
    thrift_port: Option<u16>,
    #[arg(long, hide = true)]
    nanolog: Option<String>,
    #[arg(long, hide = true)]
    notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    max_port_count: Option<u32>,
    #[arg(long, hide = true)]
    max_mc_groups: Option<u32>,
    #[arg(long, hide = true)]
    max_l1_entries: Option<u32>,
    #[arg(long, hide = true)]
    max_l2_entries: Option<u32>,
    #[arg(long, hide = true)]
    use_files: Option<i64>,
    #[arg(long, hide = true)]
    packet_in: Option<String>,
    #[arg(long, hide = true)]
    restore_state: Option<String>,
    #[arg(long, hide = true)]
    dp_grpc_server_addr: Option<String>,
    #[arg(long, hide = true)]
    load_modules: Option<String>,
    /// Words that belong to no option, which BMv2 passes over.
    #[arg(skip)]
    pub surplus: Vec<String>,
}

/// Log level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Each step of each packet
    Trace,
    /// As trace
    Debug,
    /// Messages of log_msg, and packet bytes if requested
    Info,
    Warn,
    Error,
    Off,
}

impl Bmv2Options {
    /// What cannot be had, and would change what the switch does.
    pub fn refused(&self) -> Result<(), String> {
        let all = [
            ("--use-files", self.use_files.is_some(), "packets come from interfaces"),
            ("--packet-in", self.packet_in.is_some(), "packets come from interfaces"),
            (
                "--dp-grpc-server-addr",
                self.dp_grpc_server_addr.is_some(),
                "packets come from interfaces",
            ),
            (
                "--restore-state",
                self.restore_state.is_some(),
                "tables are written by a controller",
            ),
            (
                "--load-modules",
                self.load_modules.is_some(),
                "only the externs of v1model are supported",
            ),
        ];
        match all.into_iter().find(|(_, given, _)| *given) {
            Some((name, _, why)) => Err(format!("{name}: not supported: {why}")),
            None => Ok(()),
        }
    }

    /// Options that were given and have no effect. `--no-p4` is not among them: without PROGRAM it says what happens
    /// anyway.
    pub fn ignored(&self, manner: Manner) -> Vec<&'static str> {
        let logs = manner == Manner::Slotwise;
        let all = [
            ("--log-console", logs && self.log_console),
            ("--log-file", logs && self.log_file.is_some()),
            ("--log-flush", logs && self.log_flush),
            ("--dump-packet-data", logs && self.dump_packet_data > 0),
            ("--debugger", self.debugger),
            ("--debugger-addr", self.debugger_addr.is_some()),
            ("--enable-swap", self.enable_swap),
            ("--disable-swap", self.disable_swap),
            ("--thrift-port", self.thrift_port.is_some()),
            ("--nanolog", self.nanolog.is_some()),
            ("--notifications-addr", self.notifications_addr.is_some()),
            ("--max-port-count", self.max_port_count.is_some()),
            ("--max-mc-groups", self.max_mc_groups.is_some()),
            ("--max-l1-entries", self.max_l1_entries.is_some()),
            ("--max-l2-entries", self.max_l2_entries.is_some()),
        ];
        all.into_iter()
            .filter(|(_, given)| *given)
            .map(|(name, _)| name)
            .collect()
    }
}

/// The command line as it concerns BMv2: `None` if it is one of Slotwise's own.
fn bmv2_arguments(args: &[OsString]) -> Option<Vec<OsString>> {
    let (program, rest) = args.split_first()?;
    if Path::new(program).file_name() == Some(OsStr::new(BMV2_NAME)) {
        return Some(rest.to_vec());
    }
    let (command, rest) = rest.split_first()?;
    let flag = rest.iter().position(|arg| arg == BMV2_FLAG)?;
    let mut rest = rest.to_vec();
    rest.remove(flag);
    (command == "switch").then_some(rest)
}

/// The arguments of `switch` without BMv2's `--`, which parts the options of bmv2 from those of its gRPC target.
fn without_separator(mut args: Vec<OsString>) -> Vec<OsString> {
    if let Some(separator) = args.iter().position(|arg| arg == "--") {
        args.remove(separator);
    }
    args
}

const SURPLUS: &str = "surplus";

/// The same options, read as BMv2 does: names may be cut short, `--pcap` takes the word behind it, and there may be surplus words.
fn bmv2_command() -> Command {
    let command = Command::new(BMV2_NAME)
        .version(concat!("slotwise ", env!("CARGO_PKG_VERSION")))
        .infer_long_args(true)
        .disable_version_flag(true);
    Args::augment_args(command)
        .mut_arg("pcap", |pcap| pcap.require_equals(false))
        .mut_args(|arg| arg.hide(false))
        .arg(
            Arg::new(SURPLUS)
                .num_args(0..)
                .value_parser(ValueParser::os_string())
                .hide(true),
        )
        .arg(
            Arg::new("version")
                .short('v')
                .long("version")
                .action(ArgAction::Version)
                .help("Print version"),
        )
        .arg(
            Arg::new("json_version")
                .long("json-version")
                .action(ArgAction::SetTrue)
                .help("Print the newest supported version of p4c's JSON format"),
        )
}

/// What a command line asks for.
pub enum CommandLine {
    /// A switch, in BMv2's place.
    Bmv2(Box<Args>),
    /// Anything else, for Slotwise's own parser.
    Slotwise(Vec<OsString>),
}

impl CommandLine {
    /// Reads the arguments, the program's name first. Ends the process where they are wrong or ask for a text only.
    pub fn read(args: Vec<OsString>) -> CommandLine {
        let Some(rest) = bmv2_arguments(&args) else {
            let is_switch = args.get(1).is_some_and(|command| command == "switch");
            return CommandLine::Slotwise(if is_switch { without_separator(args) } else { args });
        };
        let words = std::iter::once(OsString::from(BMV2_NAME)).chain(without_separator(rest));
        let parsed = bmv2_command()
            .try_get_matches_from(words)
            .and_then(|matches| bmv2_args(&matches));
        CommandLine::Bmv2(Box::new(parsed.unwrap_or_else(|error| error.exit())))
    }
}

fn bmv2_args(matches: &ArgMatches) -> Result<Args, clap::Error> {
    if matches.get_flag("json_version") {
        say!("{JSON_VERSION}");
        std::process::exit(0);
    }
    let mut args = Args::from_arg_matches(matches)?;
    let is_json = |program: &PathBuf| program.extension() == Some(OsStr::new("json"));
    // Without a program, the first word is one only by its name.
    let no_program = args.program.take_if(|program| args.bmv2.no_p4 && !is_json(program));
    let words = matches.get_many::<OsString>(SURPLUS).into_iter().flatten();
    let words = no_program
        .iter()
        .map(|word| word.as_os_str())
        .chain(words.map(OsString::as_os_str));
    args.bmv2.surplus = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn bmv2(line: &str) -> Result<Args, clap::Error> {
        bmv2_args(&bmv2_command().try_get_matches_from(without_separator(words(line)))?)
    }

    #[test]
    fn the_separator_of_bmv2_is_dropped() {
        let read = |line| match CommandLine::read(words(line)) {
            CommandLine::Slotwise(args) => args,
            CommandLine::Bmv2(_) => panic!("{line}"),
        };
        assert_eq!(
            read("slotwise switch -i 1@a x.json -- --cpu-port 255"),
            words("slotwise switch -i 1@a x.json --cpu-port 255")
        );
        assert_eq!(
            read("slotwise simulate -- x.yaml"),
            words("slotwise simulate -- x.yaml")
        );
    }

    #[test]
    fn the_name_or_the_flag_asks_for_bmv2() {
        for line in [
            "/usr/bin/simple_switch_grpc x.json",
            "simple_switch_grpc x.json",
            "slotwise switch x.json --bmv2-compat",
        ] {
            assert_eq!(bmv2_arguments(&words(line)), Some(words("x.json")), "{line}");
        }
        for line in ["slotwise switch x.json", "slotwise stf --bmv2-compat x.json"] {
            assert_eq!(bmv2_arguments(&words(line)), None, "{line}");
        }
    }

    #[test]
    fn command_lines_of_others_are_read_as_bmv2_reads_them() {
        // p4lang/tutorials, utils/p4runtime_switch.py
        let args = bmv2(
            "simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog ipc:///tmp/bm-0-log.ipc \
             --device-id 0 build/basic.json --log-console --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 \
             --cpu-port 255 --priority-queues 8",
        )
        .unwrap();
        assert_eq!(args.pcap.as_deref(), Some(Path::new("/tmp/pcaps")));
        assert_eq!(args.program.as_deref(), Some(Path::new("build/basic.json")));
        assert_eq!(args.interfaces.len(), 2);
        assert_eq!((args.device_id, args.cpu_port), (Some(0), Some(255)));
        assert_eq!(args.bmv2.ignored(Manner::Bmv2), ["--thrift-port", "--nanolog"]);

        // p4lang/p4-guide
        let args = bmv2("simple_switch_grpc --log-file ss-log --log-flush --dump-packet-data 10000 -i 0@veth0 --no-p4")
            .unwrap();
        assert_eq!(args.bmv2.log_file.as_deref(), Some(Path::new("ss-log")));
        assert_eq!((args.bmv2.dump_packet_data, args.bmv2.no_p4), (10_000, true));
        assert!(args.bmv2.ignored(Manner::Bmv2).is_empty());

        // Cut short, as boost::program_options takes it, and --pcap without a directory.
        let args = bmv2("simple_switch_grpc x.json --pcap --device 7 -L info").unwrap();
        assert_eq!(args.pcap.as_deref(), Some(Path::new(".")));
        assert_eq!((args.device_id, args.bmv2.log_level), (Some(7), LogLevel::Info));
        assert!(bmv2("simple_switch_grpc --log-console --log-file x").is_err());
    }

    #[test]
    fn surplus_words_are_kept_apart() {
        let cases: [(&str, Option<&str>, &[&str]); 5] = [
            (
                "-i 1@veth0 2@veth2 3@veth4 --no-p4 -- --cpu-port 255",
                None,
                &["2@veth2", "3@veth4"],
            ),
            (
                "x.json -i 1@veth0 2@veth2 -- --cpu-port 255",
                Some("x.json"),
                &["2@veth2"],
            ),
            (
                "-i 1@veth0 x.json -- 2@veth2 --cpu-port 255 last",
                Some("x.json"),
                &["2@veth2", "last"],
            ),
            ("-i 1@veth0 x.json --no-p4 --cpu-port 255", Some("x.json"), &[]),
            ("-i 1@veth0 2@veth2 --cpu-port 255", Some("2@veth2"), &[]),
        ];
        for (line, program, surplus) in cases {
            let args = bmv2(&format!("simple_switch_grpc {line}")).unwrap();
            assert_eq!(args.program.as_deref(), program.map(Path::new), "{line}");
            assert_eq!(args.bmv2.surplus, surplus, "{line}");
            assert_eq!((args.interfaces.len(), args.cpu_port), (1, Some(255)), "{line}");
        }
        assert!(bmv2("simple_switch_grpc x.json --no-such-option").is_err());
    }
}
