// SPDX-License-Identifier: Apache-2.0
//! `slotwise workload`: flows of workloads and their statistics.

mod options;
mod print;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use slotwise_cli::RunError;
use slotwise_units::{Duration, Instant, Rate};
use slotwise_workload::{
    BigSwitch, CSV_HEADING, ClosedLoop, CoflowTrace, Collective, CollectiveConfig, Completions, Every, Flow, FlowList,
    HostIndex, Hosts, Incast, IncastConfig, Load, Matrix, Offered, OpenLoop, Operation, Pattern, Poisson, Replay,
    SHIPPED, SizeTable, Sizes, Workload as Source, WorkloadError,
};

pub use options::Workload;
use options::{Draws, OpenOutput, Operation as Name, Output, PairOptions, SizeOptions, data};

/// Runs the command.
pub fn run(workload: &Workload) -> Result<(), RunError> {
    match workload {
        Workload::Poisson {
            sizes,
            pairs,
            load,
            uplinks,
            uplink_rate,
            draws,
            output,
        } => {
            let capacity = match uplinks {
                Some(links) => uplink_rate.saturating_mul(u64::from(*links)),
                None => capacity(draws, &output.output),
            };
            let load = Load {
                fraction: *load,
                capacity,
            };
            let pattern = pattern(pairs, draws.hosts)?;
            let flows = Poisson::new(
                read_sizes(sizes)?,
                (&pattern, draws.hosts),
                load,
                end(draws),
                draws.seed,
            )?;
            open_loop(flows.map(Ok), draws.hosts, output, Some((capacity, draws.duration)))
        }
        Workload::Closed {
            sizes,
            pairs,
            flows_per_host,
            pause,
            draws,
            output,
        } => {
            let pattern = pattern(pairs, draws.hosts)?;
            let settings = (*flows_per_host, *pause);
            let hosts = (&pattern, draws.hosts);
            let mut closed = ClosedLoop::new(read_sizes(sizes)?, hosts, settings, end(draws), draws.seed)?;
            closed_loop(&mut closed, draws.hosts, output)
        }
        Workload::Incast {
            senders,
            receiver,
            size,
            every,
            load,
            draws,
            output,
        } => {
            let capacity = capacity(draws, &output.output);
            let every = match (every, load) {
                (Some(period), _) => Every::Period(*period),
                (None, Some(fraction)) => Every::Load(Load {
                    fraction: *fraction,
                    capacity,
                }),
                (None, None) => Every::Once,
            };
            let config = IncastConfig {
                hosts: draws.hosts,
                senders: *senders,
                receiver: receiver.map(HostIndex),
                size: *size,
                every,
            };
            let flows = Incast::new(config, end(draws), draws.seed)?;
            open_loop(flows.map(Ok), draws.hosts, output, Some((capacity, draws.duration)))
        }
        Workload::Collective {
            operation,
            size,
            compute,
            rounds,
            chunks,
            stages,
            micro_batches,
            hosts,
            output,
        } => {
            let operation = match operation {
                Name::Ring => Operation::RingAllReduce,
                Name::Tree => Operation::TreeAllReduce { chunks: *chunks },
                Name::AllToAll => Operation::AllToAll,
                Name::Pipeline => Operation::ExpertPipeline {
                    stages: *stages,
                    micro_batches: *micro_batches,
                },
            };
            let mut collective = Collective::new(CollectiveConfig {
                operation,
                hosts: *hosts,
                size: *size,
                compute: *compute,
                rounds: *rounds,
            })?;
            closed_loop(&mut collective, *hosts, output)
        }
        Workload::List {
            file,
            format,
            hosts,
            output,
        } => {
            let flows = FlowList::new(&name(file), open(file)?, (*format).into(), Hosts::Numbered(*hosts))?;
            open_loop(flows, *hosts, output, None)
        }
        Workload::Coflows { file, divide, output } => {
            coflows(CoflowTrace::new(&name(file), open(file)?, *divide)?, output)
        }
        Workload::Pcap { file, hosts, output } => {
            let flows = Replay::new(&name(file), open(file)?, *hosts)?;
            open_loop(flows, *hosts, output, None)
        }
        Workload::Tables { licences } => {
            match licences {
                true => print::licences(),
                false => print::tables(&SHIPPED)?,
            }
            Ok(())
        }
    }
}

fn end(draws: &Draws) -> Instant {
    Instant::ZERO + draws.duration
}

/// Returns the sum of the rates of the hosts' links.
fn capacity(draws: &Draws, output: &Output) -> Rate {
    output.rate.saturating_mul(draws.hosts.into())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn open(path: &Path) -> Result<BufReader<File>, RunError> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(BufReader::new(file))
}

/// Largest table or matrix, bytes.
const MAX_TABLE: u64 = 256 << 20;

fn read_text(file: &str) -> Result<String, RunError> {
    let about = fs::metadata(file).map_err(|error| format!("{file}: {error}"))?;
    if about.len() > MAX_TABLE {
        return Err(format!("{file}: file of {} bytes; expected at most {MAX_TABLE}", about.len()).into());
    }
    Ok(fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?)
}

fn read_sizes(options: &SizeOptions) -> Result<Sizes, RunError> {
    let text = options.sizes.as_str();
    let interpolation = options.interpolate.map(Into::into);
    let sizes = if SHIPPED.iter().any(|table| table.name() == text) {
        Sizes::named(text, interpolation)?
    } else if let Some(mean) = text.strip_prefix("exponential ") {
        Sizes::Exponential(data(mean).map_err(|problem| format!("--sizes: {problem}"))?)
    } else if let Ok(size) = data(text) {
        Sizes::Fixed(size)
    } else if Path::new(text).is_file() {
        Sizes::Table(SizeTable::read(text, &read_text(text)?, interpolation)?)
    } else {
        // An unknown name: the error lists the known ones.
        Sizes::named(text, interpolation)?
    };
    Ok(match (sizes, options.min_size) {
        (sizes, None) => sizes,
        (Sizes::Table(table), Some(least)) => Sizes::Table(table.at_least(least)?),
        (_, Some(_)) => return Err("--min-size: sizes without a table; expected a table in --sizes".into()),
    })
}

fn pattern(options: &PairOptions, hosts: u32) -> Result<Pattern, RunError> {
    let mut patterns = options
        .pairs
        .iter()
        .map(|text| one_pattern(text, hosts))
        .collect::<Result<Vec<_>, _>>()?;
    match (options.turn, patterns.len()) {
        (Some(each), _) => Ok(Pattern::InTurn { each, patterns }),
        (None, 1) => Ok(patterns.remove(0)),
        (None, count) => {
            Err(format!("--pairs: {count} patterns without --turn; expected one, or the time of each").into())
        }
    }
}

fn one_pattern(text: &str, hosts: u32) -> Result<Pattern, RunError> {
    let fields: Vec<&str> = text.split(':').collect();
    let whole = |text: &str| text.parse::<u32>();
    let fraction = |text: &str| text.parse::<f64>();
    let parsed = match fields[..] {
        ["all"] => Some(Pattern::All),
        ["permutation"] => Some(Pattern::Permutation),
        ["shift", shift] => whole(shift).ok().map(|shift| Pattern::Shift { shift }),
        ["groups", group] => whole(group).ok().map(|group| Pattern::OtherGroups { group }),
        ["skew", part] => fraction(part).ok().map(|fraction| Pattern::Skew { fraction }),
        ["hotspot", targets, part] => match (whole(targets), fraction(part)) {
            (Ok(hosts), Ok(fraction)) => Some(Pattern::Hotspot { hosts, fraction }),
            _ => None,
        },
        _ if Path::new(text).is_file() => {
            let matrix = Matrix::read(text, &read_text(text)?, hosts)?;
            Some(Pattern::Matrix(matrix))
        }
        _ => None,
    };
    parsed.ok_or_else(|| {
        let expected = "all, permutation, shift:N, groups:N, hotspot:N:FRACTION, skew:FRACTION or a file";
        format!("--pairs: unknown pattern '{text}'; expected {expected}").into()
    })
}

/// Flows as they are counted and written.
struct Listing {
    offered: Offered,
    csv: Option<BufWriter<File>>,
}

impl Listing {
    fn new(output: &Output) -> Result<Listing, RunError> {
        let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let mut csv = output.csv.as_ref().map(create).transpose()?.map(BufWriter::new);
        if let Some(csv) = &mut csv {
            writeln!(csv, "{CSV_HEADING}")?;
        }
        let offered = Offered::default();
        Ok(Listing { offered, csv })
    }

    fn add(&mut self, flow: &Flow) -> io::Result<()> {
        self.offered.add(flow);
        let Some(csv) = &mut self.csv else {
            return Ok(());
        };
        let (start, size) = (flow.start.ns(), flow.size.get());
        write!(csv, "{start},{},{},{size},", flow.source.0, flow.destination.0)?;
        match flow.coflow {
            Some(coflow) => writeln!(csv, "{}", coflow.0),
            None => writeln!(csv),
        }
    }

    /// Carries a workload on the ideal switch.
    fn carry(&mut self, workload: &mut dyn Source, hosts: u32, rate: Rate) -> io::Result<Completions> {
        let mut written = Ok(());
        let completions = BigSwitch::new(hosts, rate).run(workload, Instant::MAX, |flow| {
            if written.is_ok() {
                written = self.add(flow);
            }
        });
        written.map(|()| completions)
    }

    /// Writes the rest and prints the statistics; the load with a capacity and a time.
    fn finish(mut self, load: Option<(Rate, Duration)>, completions: Option<&Completions>) -> io::Result<()> {
        if let Some(csv) = &mut self.csv {
            csv.flush()?;
        }
        print::offered(&self.offered, load);
        if let Some(completions) = completions {
            print::completions(&completions.summary());
        }
        Ok(())
    }
}

/// Flows until the first error, which is stored.
struct UntilError<'a, I> {
    flows: I,
    error: &'a mut Option<WorkloadError>,
}

impl<I: Iterator<Item = Result<Flow, WorkloadError>>> Iterator for UntilError<'_, I> {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        match self.flows.next()? {
            Ok(flow) => Some(flow),
            Err(error) => {
                *self.error = Some(error);
                None
            }
        }
    }
}

fn open_loop(
    flows: impl Iterator<Item = Result<Flow, WorkloadError>>,
    hosts: u32,
    output: &OpenOutput,
    load: Option<(Rate, Duration)>,
) -> Result<(), RunError> {
    let mut error = None;
    let flows = UntilError {
        flows,
        error: &mut error,
    };
    let mut listing = Listing::new(&output.output)?;
    let completions = if output.ideal {
        Some(listing.carry(&mut OpenLoop::new(flows), hosts, output.output.rate)?)
    } else {
        for flow in flows {
            listing.add(&flow)?;
        }
        None
    };
    match error {
        Some(error) => Err(error.into()),
        None => Ok(listing.finish(load, completions.as_ref())?),
    }
}

fn closed_loop(workload: &mut dyn Source, hosts: u32, output: &Output) -> Result<(), RunError> {
    let mut listing = Listing::new(output)?;
    let completions = listing.carry(workload, hosts, output.rate)?;
    Ok(listing.finish(None, Some(&completions))?)
}

fn coflows(trace: CoflowTrace<BufReader<File>>, output: &OpenOutput) -> Result<(), RunError> {
    let hosts = trace.hosts();
    let mut totals = print::Totals::default();
    let mut numbers = 0;
    let flows = trace.flat_map(|coflow| match coflow {
        Ok(coflow) => {
            totals.add(&coflow, output.output.rate);
            let flows: Vec<_> = coflow.flows(numbers).map(Ok).collect();
            numbers += flows.len() as u64;
            flows
        }
        Err(error) => vec![Err(error)],
    });
    open_loop(flows, hosts, output, None)?;
    totals.print(hosts);
    Ok(())
}
