// SPDX-License-Identifier: Apache-2.0
//! Compiles the protos of P4Runtime, of lock step and of simple_switch_grpc's packet interface into Rust.
//!
//! `slotwise-proto-gen P4RUNTIME LOCKSTEP BMV2 OUT`: directories of the protos, and where the files go. `scripts/gen-protos` runs it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let directories: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [p4runtime, lockstep, bmv2, out] = directories.as_slice() else {
        return Err("expected four directories: P4RUNTIME LOCKSTEP BMV2 OUT".into());
    };
    let descriptors = protox::compile(["p4/v1/p4runtime.proto", "lockstep.proto"], [p4runtime, lockstep])?;
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().out_dir(out).compile_fds(descriptors)?;
    let packets = protox::compile([Path::new("dataplane.proto")], [bmv2])?;
    tonic_prost_build::configure()
        .build_server(false)
        .out_dir(out)
        .compile_fds(packets)?;
    Ok(())
}
