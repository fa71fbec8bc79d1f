// SPDX-License-Identifier: Apache-2.0
//! Differential testing: random tables and packets on the engine and on stock simple_switch_grpc.
//!
//! Both get the same program, the same entries (over P4Runtime there), default actions, members and groups of action
//! profiles, meter rates, multicast groups and clone sessions, and the same packets one by one. What comes out for each
//! must be the same on each port, in the same order, and afterwards the counters, direct ones too, and the set of digests.
//! The first difference is made small (few entries, if possible one packet) and written as an STF file that expects what
//! simple_switch_grpc does, so that `slotwise stf --bmv2-compat PROGRAM.json P4INFO FILE` shows it.
//!
//! What cannot be compared is left out:
//!
//! * Outputs that depend on time, on chance, or on fields of headers that are not valid (P4 leaves those undefined, and
//!   simple_switch has an earlier packet's values there). The engine runs every case many times with other clocks, other
//!   seeds of `random()` and other values in invalid headers; half bytes that differ between its own runs are not
//!   compared, and packets are left out whose number or ports differ.
//! * Packets with a parser error, but for the first of a case: what they read is an earlier packet's too.
//! * Programs that read queue depths or waiting times: the engine has no queue.
//! * Packets without an end (a resubmission of every resubmitted packet): the engine gives them up.
//! * Packets that end simple_switch itself, by an assertion or an index out of range: they are counted.
//! * Registers and value sets, which simple_switch_grpc's P4Runtime server does not serve; rates of meters are such that
//!   the color does not depend on time, and direct meters have none.

mod aftermath;
mod bmv2;
mod engine;
mod entities;
mod generate;
mod model;
mod shrink;

use crate::aftermath::{Aftermath, Counted};
use crate::bmv2::Bmv2;
use crate::engine::{Engine, Expectation, Outputs, Wanted};
use crate::generate::Case;
use crate::model::Model;
use clap::Parser;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use slotwise_p4runtime::proto::p4::config::v1::P4Info;
use slotwise_stf::script::{Located, Script, Statement};
use slotwise_stf::{Schema, parse};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run random tables and packets on the engine and on simple_switch_grpc, and report the first difference.
#[derive(Parser)]
#[command(name = "diff-bmv2")]
struct Options {
    /// Programs in p4c's BMv2 JSON, each with NAME.p4info.txtpb beside NAME.json
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    /// Random cases of each program
    #[arg(long, default_value_t = 10)]
    cases: u64,
    /// Packets of each case
    #[arg(long, default_value_t = 60)]
    packets: usize,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where reproducers go
    #[arg(long, value_name = "DIR", default_value = "build/diff-bmv2")]
    out: PathBuf,
    /// simple_switch_grpc listens on this port and the next
    #[arg(long, default_value_t = 19559)]
    port: u16,
}

/// A program on both sides.
struct Pair {
    engine: Engine,
    p4info: P4Info,
    json: Vec<u8>,
    model: Model,
    port: u16,
}

/// Outcome of a case.
enum Verdict {
    /// After so many packets compared; simple_switch_grpc may have ended itself.
    Same { compared: usize, ended: bool },
    /// First difference at this packet; the last one if it is in the state afterwards.
    Differs { at: usize, seen: Box<Seen> },
}

/// What simple_switch_grpc did.
struct Seen {
    outputs: Vec<Outputs>,
    /// If it did the same for all packets.
    aftermath: Option<Aftermath>,
}

impl Pair {
    fn load(path: &Path, port: u16) -> Result<Pair, String> {
        let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let read = |path: &Path| fs::read(path).map_err(|error| at(path, &error));
        let json = read(path)?;
        let p4info_path = path.with_extension("p4info.txtpb");
        let p4info =
            slotwise_p4runtime::parse_p4info(&read(&p4info_path)?, false).map_err(|error| at(&p4info_path, &error))?;
        let value = serde_json::from_slice(&json).map_err(|error| at(path, &error))?;
        Ok(Pair {
            engine: Engine::new(&json, Schema::new(&p4info)).map_err(|error| at(path, &error))?,
            model: Model::new(&value, &p4info),
            p4info,
            json,
            port,
        })
    }

    fn counters(&self, case: &Case) -> Result<Vec<Counted>, String> {
        aftermath::counters(&self.model, self.engine.schema(), &case.setup)
    }

    /// Runs a case on both. An error is that of simple_switch_grpc, or of a setup that contradicts itself.
    async fn run(&self, case: &Case) -> Result<Verdict, String> {
        let counters = self.counters(case)?;
        let wanted = self.engine.wanted(case, &counters)?;
        let mut bmv2 = Bmv2::start(self.port, &self.p4info, &self.json).await?;
        let verdict = self.run_bmv2(&mut bmv2, case, &wanted, &counters).await;
        bmv2.stop().await?;
        verdict
    }

    async fn run_bmv2(
        &self,
        bmv2: &mut Bmv2,
        case: &Case,
        wanted: &Expectation,
        counters: &[Counted],
    ) -> Result<Verdict, String> {
        bmv2.write(entities::updates(&self.p4info, self.engine.schema(), &case.setup)?)
            .await?;
        let is_known = |wanted: &&Wanted| matches!(wanted, Wanted::Packets(_));
        let known = wanted.packets.iter().take_while(is_known).count();
        let mut outputs = Vec::new();
        for (port, frame) in case.packets.iter().take(known) {
            match bmv2.process(*port, frame).await? {
                Some(output) => outputs.push(output),
                None => break,
            }
        }
        if let Some(at) = engine::first_difference(&wanted.packets, &outputs) {
            let seen = Box::new(Seen {
                outputs,
                aftermath: None,
            });
            return Ok(Verdict::Differs { at, seen });
        }
        let compared = outputs.len();
        if compared == case.packets.len() {
            let digests = wanted.aftermath.digests.as_ref();
            let left = bmv2.aftermath(&self.p4info, counters, digests).await?;
            if !wanted.aftermath.is_met_by(&left) {
                let seen = Box::new(Seen {
                    outputs,
                    aftermath: Some(left),
                });
                return Ok(Verdict::Differs {
                    at: compared.saturating_sub(1),
                    seen,
                });
            }
        }
        Ok(Verdict::Same {
            compared,
            ended: compared < known,
        })
    }
}

/// A case and what simple_switch_grpc made of it, as a script.
fn script(case: &Case, wanted: &Expectation, counters: &[Counted], seen: &Seen) -> Script {
    let mut statements = case.setup.clone();
    for (((port, frame), wanted), got) in case.packets.iter().zip(&wanted.packets).zip(&seen.outputs) {
        statements.push(Statement::Packet {
            port: *port,
            frame: frame.clone(),
        });
        for (port, frames) in got {
            for (number, frame) in frames.iter().enumerate() {
                let pattern = Some(engine::expectation(wanted, *port, number, frame));
                statements.push(Statement::Expect { port: *port, pattern });
            }
        }
        if got.is_empty() {
            statements.push(Statement::NoPacket);
        }
    }
    if let Some(left) = &seen.aftermath {
        let counts = counters.iter().zip(&wanted.aftermath.counts).zip(&left.counts);
        for ((counter, wanted), got) in counts {
            if let (Some(wanted), Some(got)) = (wanted, got)
                && wanted != got
            {
                statements.extend(counter.checks(*got));
            }
        }
    }
    Script {
        statements: statements
            .into_iter()
            .zip(1..)
            .map(|(statement, line)| Located { line, statement })
            .collect(),
    }
}

/// Scripts know no digests: what differs in them is a comment.
fn digest_comments(wanted: &Expectation, seen: &Seen) -> String {
    let left = seen.aftermath.as_ref().and_then(|left| left.digests.as_ref());
    let (Some(wanted), Some(got)) = (&wanted.aftermath.digests, left) else {
        return String::new();
    };
    let line = |who: &str, (name, fields): &(String, Vec<Vec<u8>>)| {
        format!("# digest from {who} only: {name} {fields:02x?}\n")
    };
    let ours = wanted.difference(got).map(|digest| line("the engine", digest));
    let theirs = got.difference(wanted).map(|digest| line(bmv2::COMMAND, digest));
    ours.chain(theirs).collect()
}

async fn check(name: &str, pair: &Pair, options: &Options) -> Result<bool, String> {
    let (mut compared, mut ends) = (0, 0);
    for number in 0..options.cases {
        let seed = options.seed + number;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut case = pair
            .engine
            .comparable(generate::case(&pair.model, options.packets, &mut random))?;
        let mut verdict = pair.run(&case).await;
        // A packet that ends the other switch is told, and left out.
        while let Ok(Verdict::Same { compared, ended: true }) = verdict {
            ends += 1;
            case.packets.remove(compared);
            verdict = pair.run(&case).await;
        }
        match verdict {
            Ok(Verdict::Same { compared: packets, .. }) => compared += packets,
            Ok(Verdict::Differs { at, .. }) => {
                let small = shrink::shrink(pair, case, at).await;
                let Ok(Verdict::Differs { at, seen }) = pair.run(&small).await else {
                    return Err(format!("{name}: seed {seed}: difference not reproducible"));
                };
                let counters = pair.counters(&small)?;
                let wanted = pair.engine.wanted(&small, &counters)?;
                let text = script(&small, &wanted, &counters, &seen).to_string() + &digest_comments(&wanted, &seen);
                debug_assert!(parse(&text).is_ok());
                fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
                let path = options.out.join(format!("{}-{seed}.stf", name.replace('/', "-")));
                let head = format!(
                    "# {name}, seed {seed}: behaviour of simple_switch_grpc; the engine differs at packet {}.\n",
                    at + 1
                );
                fs::write(&path, head + &text).map_err(|error| format!("{}: {error}", path.display()))?;
                println!(
                    "{name}: DIFFERENT with seed {seed}; reproduced by {} statements and {} packets: {}\n{text}",
                    small.setup.len(),
                    small.packets.len(),
                    path.display()
                );
                return Ok(false);
            }
            Err(error) => return Err(format!("{name}: seed {seed}: {error}")),
        }
    }
    let all = options.cases * options.packets as u64;
    let ended = match ends {
        0 => String::new(),
        _ => format!("; {} exited after {ends} packets", bmv2::COMMAND),
    };
    println!("{name}: identical, {compared} of {all} packets compared{ended}");
    Ok(true)
}

fn queue_fields(json: &[u8]) -> bool {
    let text = String::from_utf8_lossy(json);
    // The header type and its aliases name each of them once or twice; whoever reads them, once more.
    ["enq_qdepth", "deq_qdepth", "deq_timedelta", "enq_timestamp"]
        .iter()
        .any(|field| text.matches(field).count() > 3)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let (mut same_programs, mut others) = (0, 0);
    for path in &options.programs {
        // Programs of different folders may have the same name.
        let name = path.with_extension("").display().to_string();
        let checked = async {
            let pair = Pair::load(path, options.port)?;
            if queue_fields(&pair.json) {
                println!("{name}: not compared: program reads queue depths or waiting times");
                return Ok(true);
            }
            check(&name, &pair, &options).await
        };
        let same = checked.await.unwrap_or_else(|error: String| {
            println!("{error}");
            false
        });
        *if same { &mut same_programs } else { &mut others } += 1;
    }
    println!("{same_programs} programs the same, {others} not");
    if others == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
