// SPDX-License-Identifier: Apache-2.0
//! Header types, instances, stacks and unions, and their places in the packet state.

use super::json::{Load, Place};
use super::{MAX_STATE_WORDS, MAX_VALUE_BITS, unique};
use crate::codec::Codec;
use crate::ir::{
    Field, FieldRef, Header, HeaderId, HeaderType, Layout, Stack, StackId, UnionId, UnionStack, UnionStackId,
};
use crate::value::limbs_for;
use std::collections::BTreeMap;

/// Packets whose state a pipeline holds in the usual course of things.
const PACKETS: usize = 8;

/// Names of everything that lies in the packet state.
#[derive(Default)]
pub(super) struct HeaderNames {
    pub headers: BTreeMap<String, HeaderId>,
    pub stacks: BTreeMap<String, StackId>,
    pub unions: BTreeMap<String, UnionId>,
    pub union_stacks: BTreeMap<String, UnionStackId>,
    /// Names of the members, for each union.
    pub union_members: Vec<Vec<String>>,
    /// `field_aliases`: what the architecture calls a field, and where it is.
    pub aliases: BTreeMap<String, FieldRef>,
}

/// Reads all header sections.
pub(super) fn load(root: &Place) -> Load<(Layout, HeaderNames)> {
    let mut layout = Layout::default();
    let mut names = HeaderNames::default();
    let types = load_types(root, &mut layout)?;
    let header_ids = load_instances(root, &types, &mut layout, &mut names)?;
    load_stacks(root, &types, &header_ids, &mut layout, &mut names)?;
    let union_ids = load_unions(root, &header_ids, &mut layout, &mut names)?;
    load_union_stacks(root, &union_ids, &mut layout, &mut names)?;
    for alias in root.list("field_aliases")? {
        let [name, target] = alias.tuple()?;
        let field = names.field(&layout, &target)?;
        names.aliases.insert(name.text()?.to_owned(), field);
    }
    Ok((layout, names))
}

fn load_types(root: &Place, layout: &mut Layout) -> Load<BTreeMap<String, usize>> {
    let mut types = BTreeMap::new();
    for place in root.need("header_types")?.items()? {
        let name = place.need("name")?;
        unique(&mut types, &name, layout.types.len())?;
        let max_bytes = match place.get("max_length")? {
            Some(length) => length.size(MAX_VALUE_BITS as usize / 8)?,
            None => 0,
        };
        let header_type = load_type(name.text()?, &place, max_bytes)?;
        layout.types.push(header_type);
    }
    Ok(types)
}

fn load_type(name: &str, place: &Place, max_bytes: usize) -> Load<HeaderType> {
    let mut shapes = Vec::new();
    let mut described = Vec::new();
    let mut variable = None;
    for field in place.need("fields")?.items()? {
        let parts = field.items()?;
        let (Some(field_name), Some(width)) = (parts.first(), parts.get(1)) else {
            return field.error("expected [name, width] or [name, width, signed]");
        };
        let signed = parts.get(2).map_or(Ok(false), Place::boolean)?;
        if let Some(saturating) = parts.get(3)
            && saturating.boolean()?
        {
            return saturating.error("saturating fields (P4_14) are not supported");
        }
        if width.is_string() {
            if width.text()? != "*" {
                return width.error("expected a width in bits, or \"*\" for a variable field");
            }
            if variable.replace(shapes.len()).is_some() {
                return field.error("a header type has at most one variable field");
            }
            shapes.push((0, true));
        } else {
            shapes.push((width.number(u64::from(MAX_VALUE_BITS))? as u32, false));
        }
        described.push((field_name.text()?, signed));
    }
    let fixed: usize = shapes.iter().map(|s| s.0 as usize).sum();
    if let Some(index) = variable {
        let bits = (max_bytes * 8).checked_sub(fixed).filter(|&bits| bits > 0);
        let Some(bits) = bits else {
            return place.error("`max_length` must leave room for the variable field");
        };
        shapes[index].0 = bits as u32;
    }
    let (mut fields, words) = lay_out_fields(shapes);
    for (field, (name, signed)) in fields.iter_mut().zip(described) {
        name.clone_into(&mut field.name);
        // All that a field of no bits can be is 0.
        field.signed = signed && field.width > 0;
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = fields.iter().find(|f| !seen.insert(&f.name)) {
        return place.error(format!("duplicate field `{}`", twice.name));
    }
    let codec = Codec::new(&fields);
    Ok(HeaderType {
        name: name.to_owned(),
        fields,
        words,
        codec,
    })
}

/// Gives fields of (bits, variable) their places in an instance, and says how many words the instance has.
pub(crate) fn lay_out_fields(shapes: impl IntoIterator<Item = (u32, bool)>) -> (Vec<Field>, usize) {
    let mut words = 1;
    let fields = shapes.into_iter().map(|(width, variable)| {
        let field = Field {
            name: String::new(),
            offset: words,
            width,
            signed: false,
            variable,
        };
        words += limbs_for(width) + usize::from(variable);
        field
    });
    (fields.collect(), words)
}

fn load_instances(
    root: &Place,
    types: &BTreeMap<String, usize>,
    layout: &mut Layout,
    names: &mut HeaderNames,
) -> Load<BTreeMap<u64, HeaderId>> {
    let mut ids = BTreeMap::new();
    for place in root.need("headers")?.items()? {
        let name = place.need("name")?;
        let id = layout.headers.len();
        unique(&mut names.headers, &name, id)?;
        let type_name = place.need("header_type")?;
        let Some(&header_type) = types.get(type_name.text()?) else {
            return type_name.error("no such header type");
        };
        let base = layout.initial.len();
        let words = layout.types[header_type].words;
        if base + words > MAX_STATE_WORDS {
            return place.error("headers and metadata are too large");
        }
        // The state of the packet, of one that goes round again, and of some copies.
        place.charge_pipeline((words * PACKETS) as u64 * 8)?;
        layout.initial.resize(base + words, 0);
        layout.initial[base] = u64::from(place.flag("metadata")?);
        layout.headers.push(Header {
            name: name.text()?.to_owned(),
            header_type,
            base,
            union: None,
        });
        let json_id = place.need("id")?;
        if ids.insert(json_id.number(u64::MAX)?, id).is_some() {
            return json_id.error("duplicate header ID");
        }
    }
    Ok(ids)
}

fn load_stacks(
    root: &Place,
    types: &BTreeMap<String, usize>,
    header_ids: &BTreeMap<u64, HeaderId>,
    layout: &mut Layout,
    names: &mut HeaderNames,
) -> Load<()> {
    for place in root.list("header_stacks")? {
        let name = place.need("name")?;
        unique(&mut names.stacks, &name, layout.stacks.len())?;
        let type_name = place.need("header_type")?;
        let Some(&header_type) = types.get(type_name.text()?) else {
            return type_name.error("no such header type");
        };
        let elements = referenced(&place.need("header_ids")?, header_ids, "header")?;
        if let Some(&odd) = elements.iter().find(|&&h| layout.headers[h].header_type != header_type) {
            return place.error(format!(
                "element `{}` differs in type from the stack",
                layout.headers[odd].name
            ));
        }
        let next = layout.initial.len();
        layout.initial.push(0);
        layout.stacks.push(Stack {
            header_type,
            elements,
            next,
        });
    }
    Ok(())
}

fn referenced(place: &Place, ids: &BTreeMap<u64, usize>, what: &str) -> Load<Vec<usize>> {
    let mut found = Vec::new();
    for item in place.items()? {
        match ids.get(&item.number(u64::MAX)?) {
            Some(&id) if found.contains(&id) => return item.error(format!("duplicate {what}")),
            Some(&id) => found.push(id),
            None => return item.error(format!("no {what} with this ID")),
        }
    }
    if found.is_empty() {
        place.error(format!("expected at least one {what}"))
    } else {
        Ok(found)
    }
}

fn load_unions(
    root: &Place,
    header_ids: &BTreeMap<u64, HeaderId>,
    layout: &mut Layout,
    names: &mut HeaderNames,
) -> Load<BTreeMap<u64, UnionId>> {
    let mut types = BTreeMap::new();
    for place in root.list("header_union_types")? {
        let mut members = Vec::new();
        for member in place.need("headers")?.items()? {
            let [member_name, _] = member.tuple()?;
            members.push(member_name.text()?.to_owned());
        }
        unique(&mut types, &place.need("name")?, members)?;
    }
    let mut ids = BTreeMap::new();
    for place in root.list("header_unions")? {
        let id = layout.unions.len();
        unique(&mut names.unions, &place.need("name")?, id)?;
        let type_name = place.need("union_type")?;
        let Some(member_names) = types.get(type_name.text()?) else {
            return type_name.error("no such header union type");
        };
        let list = place.need("header_ids")?;
        let members = referenced(&list, header_ids, "header")?;
        if members.len() != member_names.len() {
            return list.error(format!("expected {} members, as its type has", member_names.len()));
        }
        for &member in &members {
            if layout.headers[member].union.replace(id).is_some() {
                return list.error(format!("`{}` is in another union", layout.headers[member].name));
            }
        }
        names.union_members.push(member_names.clone());
        layout.unions.push(members);
        ids.insert(place.need("id")?.number(u64::MAX)?, id);
    }
    Ok(ids)
}

fn load_union_stacks(
    root: &Place,
    union_ids: &BTreeMap<u64, UnionId>,
    layout: &mut Layout,
    names: &mut HeaderNames,
) -> Load<()> {
    for place in root.list("header_union_stacks")? {
        let name = place.need("name")?;
        unique(&mut names.union_stacks, &name, layout.union_stacks.len())?;
        let elements = referenced(&place.need("header_union_ids")?, union_ids, "header union")?;
        let shape = |union: UnionId| -> Vec<usize> {
            layout.unions[union]
                .iter()
                .map(|&h| layout.headers[h].header_type)
                .collect()
        };
        if elements.iter().any(|&union| shape(union) != shape(elements[0])) {
            return place.error("elements of a stack have one type");
        }
        let next = layout.initial.len();
        layout.initial.push(0);
        layout.union_stacks.push(UnionStack { elements, next });
    }
    Ok(())
}

impl HeaderNames {
    pub fn header(&self, place: &Place) -> Load<HeaderId> {
        lookup(&self.headers, place, "header")
    }

    pub fn stack(&self, place: &Place) -> Load<StackId> {
        lookup(&self.stacks, place, "header stack")
    }

    pub fn union(&self, place: &Place) -> Load<UnionId> {
        lookup(&self.unions, place, "header union")
    }

    pub fn union_stack(&self, place: &Place) -> Load<UnionStackId> {
        lookup(&self.union_stacks, place, "header union stack")
    }

    /// The index of a member in the unions of a stack.
    pub fn member(&self, layout: &Layout, stack: UnionStackId, place: &Place) -> Load<usize> {
        let union = layout.union_stacks[stack].elements[0];
        let name = place.text()?;
        match self.union_members[union].iter().position(|m| m == name) {
            Some(member) => Ok(member),
            None => place.error("the union has no such member"),
        }
    }

    /// Whether the header that is named is valid.
    pub fn validity(&self, layout: &Layout, place: &Place) -> Load<FieldRef> {
        let header = self.header(place)?;
        Ok(FieldRef {
            slot: layout.headers[header].base,
            width: 1,
            signed: false,
            variable: false,
            header,
        })
    }

    /// `[header, field]`; the field `$valid$` is the header's validity.
    pub fn field(&self, layout: &Layout, place: &Place) -> Load<FieldRef> {
        let [header_name, field_name] = place.tuple()?;
        if field_name.text()? == "$valid$" {
            return self.validity(layout, &header_name);
        }
        let header = self.header(&header_name)?;
        let instance = &layout.headers[header];
        let field = type_field(layout, instance.header_type, &field_name)?;
        Ok(FieldRef {
            slot: instance.base + field.offset,
            width: field.width,
            signed: field.signed,
            variable: field.variable,
            header,
        })
    }

    /// The field that the architecture calls `name`, by alias or by its own name.
    pub fn standard(&self, layout: &Layout, name: &str) -> Option<FieldRef> {
        if let Some(&field) = self.aliases.get(name) {
            return Some(field);
        }
        let (header_name, field_name) = name.split_once('.')?;
        let &header = self.headers.get(header_name)?;
        let instance = &layout.headers[header];
        let field = layout.types[instance.header_type]
            .fields
            .iter()
            .find(|f| f.name == field_name)?;
        Some(FieldRef {
            slot: instance.base + field.offset,
            width: field.width,
            signed: field.signed,
            variable: field.variable,
            header,
        })
    }
}

/// The field of a header type by its name.
pub(super) fn type_field<'l>(layout: &'l Layout, header_type: usize, place: &Place) -> Load<&'l Field> {
    let name = place.text()?;
    let header_type = &layout.types[header_type];
    match header_type.fields.iter().find(|f| f.name == name) {
        Some(field) => Ok(field),
        None => place.error(format!("header type `{}` has no field `{name}`", header_type.name)),
    }
}

fn lookup(map: &BTreeMap<String, usize>, place: &Place, what: &str) -> Load<usize> {
    match map.get(place.text()?) {
        Some(&index) => Ok(index),
        None => place.error(format!("no such {what}")),
    }
}
