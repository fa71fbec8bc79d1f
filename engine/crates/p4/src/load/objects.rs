// SPDX-License-Identifier: Apache-2.0
//! Registers, counters, meters, calculations, checksums, field lists and digests.

use super::expr::Scope;
use super::json::{Load, Place};
use super::{MAX_CELLS, MAX_VALUE_BITS, unique};
use crate::hash::Algorithm;
use crate::ir::{
    Calculation, CalculationInput, Checksum, CounterArray, Digest, FieldRef, MeterArray, MeterUnit, RegisterArray,
};
use crate::meter::Meter;
use crate::value::limbs_for;
use std::collections::BTreeMap;

/// Stateful objects and calculations, by name.
#[derive(Default)]
pub(super) struct Objects {
    pub registers: Vec<RegisterArray>,
    pub counters: Vec<CounterArray>,
    pub meters: Vec<MeterArray>,
    pub calculations: Vec<Calculation>,
    register_names: BTreeMap<String, usize>,
    counter_names: BTreeMap<String, usize>,
    meter_names: BTreeMap<String, usize>,
    calculation_names: BTreeMap<String, usize>,
}

impl Objects {
    pub fn load(root: &Place, scope: Scope) -> Load<Objects> {
        let mut objects = Objects::default();
        for place in root.list("register_arrays")? {
            objects.load_register(&place)?;
        }
        for place in root.list("counter_arrays")? {
            // A direct counter lives in the entries of its table.
            if !place.flag("is_direct")? {
                let name = place.need("name")?;
                unique(&mut objects.counter_names, &name, objects.counters.len())?;
                let size = cells(&place, size_of::<(u64, u64)>())?;
                objects.counters.push(CounterArray {
                    name: name.text()?.to_owned(),
                    size,
                });
            }
        }
        for place in root.list("meter_arrays")? {
            objects.load_meter(&place, scope)?;
        }
        for place in root.list("calculations")? {
            unique(
                &mut objects.calculation_names,
                &place.need("name")?,
                objects.calculations.len(),
            )?;
            objects.calculations.push(load_calculation(&place, scope)?);
        }
        Ok(objects)
    }

    fn load_register(&mut self, place: &Place) -> Load<()> {
        let name = place.need("name")?;
        unique(&mut self.register_names, &name, self.registers.len())?;
        let width = place.need("bitwidth")?.number(u64::from(MAX_VALUE_BITS))? as u32;
        if width == 0 {
            return place.error("a register has at least 1 bit");
        }
        let size = cells(place, limbs_for(width) * size_of::<u64>())?;
        let before = self.registers.last();
        self.registers.push(RegisterArray {
            name: name.text()?.to_owned(),
            size,
            width,
            first: before.map_or(0, |before| before.first + before.size * limbs_for(before.width)),
        });
        Ok(())
    }

    fn load_meter(&mut self, place: &Place, scope: Scope) -> Load<()> {
        let name = place.need("name")?;
        unique(&mut self.meter_names, &name, self.meters.len())?;
        let unit = place.need("type")?;
        let unit = match unit.text()? {
            "bytes" => MeterUnit::Bytes,
            "packets" => MeterUnit::Packets,
            other => return unit.error(format!("expected `bytes` or `packets`, found `{other}`")),
        };
        let direct_target = match (place.flag("is_direct")?, place.get("result_target")?) {
            (true, Some(target)) => Some(small_field(scope, &target)?),
            (true, None) => return place.error("a direct meter has a `result_target`"),
            (false, _) => None,
        };
        if let Some(rates) = place.get("rate_count")?
            && rates.size(usize::MAX)? != 2
        {
            return rates.error("v1model's meters have 2 rates");
        }
        // The cells of a direct meter are in the entries of its table.
        let size = match direct_target {
            None => cells(place, size_of::<Meter>())?,
            Some(_) => 0,
        };
        self.meters.push(MeterArray {
            name: name.text()?.to_owned(),
            size,
            unit,
            direct_target,
        });
        Ok(())
    }

    pub fn register(&self, place: &Place) -> Load<usize> {
        named(&self.register_names, place, "register_array")
    }

    pub fn counter(&self, place: &Place) -> Load<usize> {
        named(&self.counter_names, place, "counter_array")
    }

    pub fn meter(&self, place: &Place) -> Load<usize> {
        let meter = named(&self.meter_names, place, "meter_array")?;
        match self.meters[meter].direct_target {
            None => Ok(meter),
            Some(_) => place.error("a direct meter belongs to its table"),
        }
    }

    pub fn calculation(&self, place: &Place) -> Load<usize> {
        named(&self.calculation_names, place, "calculation")
    }

    /// The direct meter of a table.
    pub fn direct_meter(&self, place: &Place) -> Load<usize> {
        match self.meter_names.get(place.text()?) {
            Some(&meter) if self.meters[meter].direct_target.is_some() => Ok(meter),
            _ => place.error("no such direct meter"),
        }
    }

    /// The checksums to verify, and those to update.
    pub fn load_checksums(&self, root: &Place, scope: Scope) -> Load<(Vec<Checksum>, Vec<Checksum>)> {
        let (mut verify, mut update) = (Vec::new(), Vec::new());
        for place in root.list("checksums")? {
            let kind = place.need("type")?;
            if kind.text()? != "generic" {
                return kind.error("expected `generic`");
            }
            let calculation = place.need("calculation")?;
            let Some(&calculation) = self.calculation_names.get(calculation.text()?) else {
                return calculation.error("no such calculation");
            };
            let load_one = || -> Load<Checksum> {
                let condition = match place.get("if_cond")? {
                    Some(condition) => Some(scope.condition(&condition)?),
                    None => None,
                };
                Ok(Checksum {
                    target: small_field(scope, &place.need("target")?)?,
                    calculation,
                    condition,
                })
            };
            let wanted = |key| place.get(key)?.map_or(Ok(true), |flag| flag.boolean());
            if wanted("verify")? {
                verify.push(load_one()?);
            }
            if wanted("update")? {
                update.push(load_one()?);
            }
        }
        Ok((verify, update))
    }
}

/// The `size` of an array of cells of so many bytes, which the program is charged for.
fn cells(place: &Place, cell_bytes: usize) -> Load<usize> {
    let place = place.need("size")?;
    let size = place.size(MAX_CELLS)?;
    place.charge_pipeline((size as u64).saturating_mul(cell_bytes as u64))?;
    Ok(size)
}

/// A `{type, value}` object that names an object.
fn named(names: &BTreeMap<String, usize>, place: &Place, kind: &str) -> Load<usize> {
    let found = place.need("type")?;
    if found.text()? != kind {
        return found.error(format!("expected a `{kind}`"));
    }
    let name = place.need("value")?;
    match names.get(name.text()?) {
        Some(&index) => Ok(index),
        None => name.error(format!("no such {kind}")),
    }
}

fn small_field(scope: Scope, place: &Place) -> Load<FieldRef> {
    match scope.names.field(scope.layout, place)? {
        field if field.variable || field.width > 64 => place.error("expected a field of at most 64 bits"),
        field => Ok(field),
    }
}

pub(super) fn load_calculation(place: &Place, scope: Scope) -> Load<Calculation> {
    let name = place.need("algo")?;
    let Some(algorithm) = Algorithm::named(name.text()?) else {
        return name.error(format!("algorithm `{}` is not supported", name.text()?));
    };
    let mut input = Vec::new();
    for part in place.need("input")?.items()? {
        let kind = part.need("type")?;
        input.push(match kind.text()? {
            "field" => CalculationInput::Field(scope.names.field(scope.layout, &part.need("value")?)?),
            "hexstr" => {
                let width = part.need("bitwidth")?.number(u64::from(MAX_VALUE_BITS))? as u32;
                CalculationInput::Constant {
                    value: part.need("value")?.hex_bits(width)?,
                    width,
                }
            }
            "header" => CalculationInput::Header(scope.names.header(&part.need("value")?)?),
            "payload" => CalculationInput::Payload,
            other => return kind.error(format!("cannot compute over a `{other}`")),
        });
    }
    Ok(Calculation { algorithm, input })
}

/// Metadata to preserve, by id.
pub(super) fn load_field_lists(root: &Place, scope: Scope) -> Load<BTreeMap<u64, Vec<FieldRef>>> {
    let mut lists = BTreeMap::new();
    for place in root.list("field_lists")? {
        let id = place.need("id")?;
        if lists.insert(id.number(u64::MAX)?, fields(&place, scope)?).is_some() {
            return id.error("duplicate field list ID");
        }
    }
    Ok(lists)
}

/// Digests, by id.
pub(super) fn load_digests(root: &Place, scope: Scope) -> Load<BTreeMap<u64, Digest>> {
    let mut digests = BTreeMap::new();
    for place in root.list("learn_lists")? {
        let id = place.need("id")?;
        let fields = fields(&place, scope)?;
        let digest = Digest {
            name: place.need("name")?.text()?.to_owned(),
            words: fields.iter().map(|field| limbs_for(field.width) as u64).sum(),
            fields,
        };
        if digests.insert(id.number(u64::MAX)?, digest).is_some() {
            return id.error("duplicate digest ID");
        }
    }
    Ok(digests)
}

fn fields(place: &Place, scope: Scope) -> Load<Vec<FieldRef>> {
    let mut fields = Vec::new();
    for element in place.need("elements")?.items()? {
        let kind = element.need("type")?;
        if kind.text()? != "field" {
            return kind.error("expected a `field`");
        }
        fields.push(scope.names.field(scope.layout, &element.need("value")?)?);
    }
    Ok(fields)
}
