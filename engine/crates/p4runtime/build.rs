// SPDX-License-Identifier: Apache-2.0
//! Compiles the P4Runtime protos (`scripts/protos` puts them into `build/proto`) and `schema/lockstep.proto`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let repository = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../..");
    let protos = env::var_os("SLOTWISE_PROTO_DIR").map_or_else(|| repository.join("build/proto"), PathBuf::from);
    let schema = repository.join("schema");
    println!("cargo:rerun-if-env-changed=SLOTWISE_PROTO_DIR");
    println!("cargo:rerun-if-changed={}", protos.display());
    println!("cargo:rerun-if-changed={}", schema.join("lockstep.proto").display());
    if !protos.join("p4/v1/p4runtime.proto").exists() {
        return Err(format!(
            "no P4Runtime protos in {}: run `make setup` or scripts/protos",
            protos.display()
        )
        .into());
    }

    let descriptors = protox::compile(["p4/v1/p4runtime.proto", "lockstep.proto"], [&protos, &schema])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
