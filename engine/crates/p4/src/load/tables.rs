// SPDX-License-Identifier: Apache-2.0
//! Controls: tables, conditions and the order in which they run.

use super::expr::Scope;
use super::json::{Load, Place};
use super::objects::{Objects, load_calculation};
use super::{MAX_KEY_WORDS, TABLE_BYTES, unique};
use crate::KeyField;
use crate::ir::{
    Action, ActionId, ActionProfile, CalculationInput, DefaultEntry, KeyPart, MatchKind, NextNode, Node, Pipeline,
    ProgramEntry, Table,
};
use crate::limits::entry_bytes;
use crate::value::{self, limbs_for};
use crate::work;
use std::collections::BTreeMap;

/// What controls are made of.
pub(super) struct Controls<'a> {
    pub scope: Scope<'a>,
    pub objects: &'a Objects,
    pub actions: &'a [Action],
    /// By the ids in the JSON.
    pub action_ids: &'a BTreeMap<u64, ActionId>,
    pub tables: Vec<Table>,
    pub table_names: BTreeMap<String, usize>,
    pub profiles: Vec<ActionProfile>,
    pub profile_names: BTreeMap<String, usize>,
}

impl Controls<'_> {
    /// The control named `name`.
    pub fn load(&mut self, root: &Place, name: &str) -> Load<Pipeline> {
        let pipelines = root.need("pipelines")?;
        let place = super::only_named(&pipelines, name)?;
        for profile in place.list("action_profiles")? {
            self.load_profile(&profile)?;
        }
        let tables = place.need("tables")?.items()?;
        let conditionals = place.list("conditionals")?;
        let calls = place.list("action_calls")?;
        let mut nodes = BTreeMap::new();
        let mut sources = Vec::new();
        for (index, node) in tables.iter().chain(&conditionals).chain(&calls).enumerate() {
            unique(&mut nodes, &node.need("name")?, index)?;
            sources.push(node.source());
        }
        let mut pipeline = Pipeline {
            nodes: Vec::new(),
            start: next(&place, "init_table", &nodes)?,
            most_work: 0,
            sources,
        };
        for table in &tables {
            let loaded = self.load_table(table, &nodes)?;
            unique(&mut self.table_names, &table.need("name")?, self.tables.len())?;
            pipeline
                .nodes
                .push(plain_action(&loaded).unwrap_or(Node::Table(self.tables.len())));
            self.tables.push(loaded);
        }
        for conditional in &conditionals {
            pipeline.nodes.push(Node::If {
                condition: self.scope.condition(&conditional.need("expression")?)?,
                yes: next(conditional, "true_next", &nodes)?,
                no: next(conditional, "false_next", &nodes)?,
            });
        }
        for call in &calls {
            let action = self.action(&call.need("action_id")?)?;
            if !self.actions[action].params.is_empty() {
                return call.error("a called action has no parameters");
            }
            let next = next(call, "next_node", &nodes)?;
            pipeline.nodes.push(Node::Action {
                action,
                args: Vec::new(),
                next,
            });
        }
        pipeline.most_work = self.most_work(&place, &pipeline)?;
        Ok(pipeline)
    }

    /// A control runs each node at most once; a cycle would never end. Gives the work of the most expensive way through it.
    fn most_work(&self, place: &Place, pipeline: &Pipeline) -> Load<u64> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; pipeline.nodes.len()];
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        // From each node to the end.
        let mut work = vec![0u64; pipeline.nodes.len()];
        for start in 0..pipeline.nodes.len() {
            if marks[start] != Mark::New {
                continue;
            }
            marks[start] = Mark::Open;
            path.push((start, self.successors(&pipeline.nodes[start])));
            while let Some((node, rest)) = path.last_mut() {
                let Some(successor) = rest.pop() else {
                    let successors = self.successors(&pipeline.nodes[*node]);
                    let rest = successors.into_iter().map(|successor| work[successor]).max();
                    work[*node] = self.node_work(&pipeline.nodes[*node]) + rest.unwrap_or(0);
                    marks[*node] = Mark::Done;
                    path.pop();
                    continue;
                };
                match marks[successor] {
                    Mark::Open => return place.error("the control has a cycle"),
                    Mark::Done => {}
                    Mark::New => {
                        marks[successor] = Mark::Open;
                        path.push((successor, self.successors(&pipeline.nodes[successor])));
                    }
                }
            }
        }
        Ok(pipeline.start.map_or(0, |start| work[start]))
    }

    /// Work of a node by itself.
    fn node_work(&self, node: &Node) -> u64 {
        match node {
            Node::Table(table) => {
                let actions = self.tables[*table].actions.iter();
                let most = actions.map(|&action| self.actions[action].work()).max();
                work::LOOKUP + most.unwrap_or(0)
            }
            Node::If { .. } => 1,
            Node::Action { action, .. } => self.actions[*action].work(),
        }
    }

    fn successors(&self, node: &Node) -> Vec<usize> {
        let all: Vec<Option<usize>> = match node {
            Node::Table(table) => match &self.tables[*table].next {
                NextNode::ByAction { next, miss } => next.iter().copied().chain([*miss]).collect(),
                NextNode::HitMiss { hit, miss } => vec![*hit, *miss],
            },
            Node::If { yes, no, .. } => vec![*yes, *no],
            Node::Action { next, .. } => vec![*next],
        };
        all.into_iter().flatten().collect()
    }

    fn action(&self, place: &Place) -> Load<ActionId> {
        match self.action_ids.get(&place.number(u64::MAX)?) {
            Some(&action) => Ok(action),
            None => place.error("no action with this ID"),
        }
    }

    fn load_profile(&mut self, place: &Place) -> Load<()> {
        let name = place.need("name")?;
        unique(&mut self.profile_names, &name, self.profiles.len())?;
        let selector = match place.get("selector")? {
            Some(selector) => {
                let selector = load_calculation(&selector, self.scope)?;
                let is_field = |input: &CalculationInput| matches!(input, CalculationInput::Field(_));
                if !selector.input.iter().all(is_field) {
                    return place.error("a selector hashes fields only");
                }
                Some(selector)
            }
            None => None,
        };
        let max_size = place.need("max_size")?.size(u32::MAX as usize)?;
        self.profiles.push(ActionProfile {
            name: name.text()?.to_owned(),
            max_size,
            selector,
        });
        Ok(())
    }

    fn load_table(&self, place: &Place, nodes: &BTreeMap<String, usize>) -> Load<Table> {
        place.charge_pipeline(TABLE_BYTES)?;
        let (key, key_words, key_mask) = self.load_key(&place.need("key")?)?;
        let kind = key
            .iter()
            .map(|part| part.kind)
            .max_by_key(|&kind| strength(kind))
            .unwrap_or(MatchKind::Exact);
        if key.iter().filter(|part| part.kind == MatchKind::Lpm).count() > 1 && kind == MatchKind::Lpm {
            return place.error("a table has at most one lpm key");
        }
        let declared = place.need("match_type")?;
        if match_kind(&declared)? != kind {
            return declared.error(format!("the key makes this a {kind:?} table"));
        }
        let actions: Vec<ActionId> = place
            .need("action_ids")?
            .items()?
            .iter()
            .map(|id| self.action(id))
            .collect::<Load<_>>()?;
        let profile = self.table_profile(place)?;
        if profile.is_some_and(|p| self.tables.iter().any(|t| t.profile == Some(p) && t.actions != actions)) {
            return place.error("tables that share an action profile have the same actions");
        }
        let mut table = Table {
            name: place.need("name")?.text()?.to_owned(),
            kind,
            key,
            key_words,
            key_mask,
            max_size: place.need("max_size")?.size(u32::MAX as usize)?,
            next: self.load_next(place, &actions, nodes)?,
            actions,
            default: None,
            const_default_action: false,
            const_default_entry: false,
            entries: None,
            counters: place.flag("with_counters")?,
            idle_timeouts: place.flag("support_timeout")?,
            direct_meter: match place.get("direct_meters")? {
                Some(name) => Some(self.objects.direct_meter(&name)?),
                None => None,
            },
            profile,
        };
        if let Some(entry) = place.get("default_entry")? {
            if table.profile.is_some() {
                return entry.error("default entries are not supported for tables with an action profile");
            }
            table.default = Some(self.action_entry(&entry, &table)?);
            table.const_default_action = entry.flag("action_const")?;
            table.const_default_entry = entry.flag("action_entry_const")?;
        }
        if let Some(entries) = place.get("entries")? {
            if table.profile.is_some() {
                return entries.error("entries are not supported for tables with an action profile");
            }
            table.entries = Some(self.program_entries(&entries, &table)?);
        }
        Ok(table)
    }

    fn table_profile(&self, place: &Place) -> Load<Option<usize>> {
        let kind = place.need("type")?;
        let with_selector = match kind.text()? {
            "simple" => return Ok(None),
            "indirect" => false,
            "indirect_ws" => true,
            other => return kind.error(format!("table type `{other}` is not supported")),
        };
        let name = place.need("action_profile")?;
        match self.profile_names.get(name.text()?) {
            Some(&profile) if self.profiles[profile].selector.is_some() == with_selector => Ok(Some(profile)),
            Some(_) => kind.error("action profile and table differ in their selector"),
            None => name.error("no such action profile"),
        }
    }

    /// The parts of a key, packed in words: no part of up to 64 bits straddles two.
    fn load_key(&self, place: &Place) -> Load<(Vec<KeyPart>, usize, Vec<u64>)> {
        let mut parts: Vec<KeyPart> = Vec::new();
        let (mut words, mut free) = (0, 0);
        let mut masks = Vec::new();
        for part in place.items()? {
            let kind = part.need("match_type")?;
            let target = part.need("target")?;
            let source = match kind.text()? {
                "valid" => self.scope.names.validity(self.scope.layout, &target)?,
                _ => self.scope.names.field(self.scope.layout, &target)?,
            };
            if source.variable {
                return target.error("a variable field cannot be a key");
            }
            let kind = match_kind(&kind)?;
            if kind == MatchKind::Range && source.width > 64 {
                return target.error("range keys of more than 64 bits are not supported");
            }
            let (word, shift) = if source.width == 0 && words > 0 {
                (words - 1, 0)
            } else if source.width <= free && words > 0 {
                free -= source.width;
                (words - 1, 64 - free - source.width)
            } else {
                words += limbs_for(source.width);
                free = 64u32.saturating_sub(source.width);
                (words - limbs_for(source.width), 0)
            };
            if words > MAX_KEY_WORDS {
                return place.error(format!("a key has at most {} bits", MAX_KEY_WORDS * 64));
            }
            let mask = match part.get("mask")? {
                Some(mask) => mask.hex_bits(source.width)?,
                None => {
                    let mut ones = vec![u64::MAX; limbs_for(source.width)];
                    value::truncate(&mut ones, source.width);
                    ones
                }
            };
            masks.resize(words, 0);
            for (index, limb) in mask.iter().enumerate() {
                masks[word + index] |= limb << shift;
            }
            let name = match part.get("name")? {
                Some(name) => name.text()?.to_owned(),
                None => format!("key {}", parts.len()),
            };
            parts.push(KeyPart {
                name,
                kind,
                source,
                word,
                shift,
            });
        }
        Ok((parts, words, masks))
    }

    fn load_next(&self, place: &Place, actions: &[ActionId], nodes: &BTreeMap<String, usize>) -> Load<NextNode> {
        let map = place.need("next_tables")?;
        let members = map.members()?;
        let miss = next(place, "base_default_next", nodes)?;
        if members
            .iter()
            .any(|(name, _)| *name == "__HIT__" || *name == "__MISS__")
        {
            if let Some((_, odd)) = members
                .iter()
                .find(|(name, _)| *name != "__HIT__" && *name != "__MISS__")
            {
                return odd.error("`__HIT__` and `__MISS__` cannot be combined with other keys");
            }
            return Ok(NextNode::HitMiss {
                hit: next(&map, "__HIT__", nodes)?,
                miss: next(&map, "__MISS__", nodes)?,
            });
        }
        let mut by_action = Vec::new();
        for &action in actions {
            let name = &self.actions[action].name;
            if !members.iter().any(|(member, _)| member == name) {
                return map.error(format!("missing member `{name}`"));
            }
            by_action.push(next(&map, name, nodes)?);
        }
        Ok(NextNode::ByAction { next: by_action, miss })
    }

    /// `action_id` and `action_data`.
    fn action_entry(&self, place: &Place, table: &Table) -> Load<DefaultEntry> {
        let id = place.need("action_id")?;
        let action_id = self.action(&id)?;
        let Some(action) = table.actions.iter().position(|&a| a == action_id) else {
            return id.error("action does not belong to the table");
        };
        let params = &self.actions[action_id].params;
        let data = place.need("action_data")?;
        let values = data.items()?;
        if values.len() != params.len() {
            return data.error(format!("expected {} values, found {}", params.len(), values.len()));
        }
        // In the program, in the table, and twice while they grow.
        data.charge_pipeline(4 * 8 * self.actions[action_id].arg_words as u64)?;
        let mut args = Vec::new();
        for (value, param) in values.iter().zip(params) {
            args.append(&mut value.hex_bits(param.width)?);
        }
        Ok(DefaultEntry { action, args })
    }

    fn program_entries(&self, place: &Place, table: &Table) -> Load<Vec<ProgramEntry>> {
        let mut entries = Vec::new();
        for entry in place.items()? {
            // In the program, as bytes, and in the table: value, mask and value again.
            let args = table.actions.iter().map(|&action| self.actions[action].arg_words);
            entry.charge_pipeline(entry_bytes(table.key_words, args.max().unwrap_or(0)))?;
            let match_key = entry.need("match_key")?;
            let parts = match_key.items()?;
            if parts.len() != table.key.len() {
                return match_key.error(format!("expected {} parts, found {}", table.key.len(), parts.len()));
            }
            let mut key = Vec::new();
            for (part, column) in parts.iter().zip(&table.key) {
                key.push(const_key(part, column)?);
            }
            let priority = match entry.get("priority")? {
                Some(priority) => priority.number(i32::MAX as u64)? as i32,
                None => 1,
            };
            let action = self.action_entry(&entry.need("action_entry")?, table)?;
            entries.push(ProgramEntry { key, priority, action });
        }
        // In the JSON the smallest number wins, in P4Runtime the largest.
        let last = entries.iter().map(|e| e.priority).max().unwrap_or(0);
        let prioritized = matches!(table.kind, MatchKind::Ternary | MatchKind::Range);
        for entry in &mut entries {
            entry.priority = if prioritized {
                (last - entry.priority).saturating_add(1)
            } else {
                0
            };
        }
        Ok(entries)
    }
}

/// p4c wraps each run of statements in a table without a key whose default action nobody can change: that is an action.
fn plain_action(table: &Table) -> Option<Node> {
    let counts = table.counters || table.direct_meter.is_some();
    if !table.key.is_empty() || !table.const_default_entry || table.profile.is_some() || counts {
        return None;
    }
    let default = table.default.as_ref()?;
    let next = table.next.after(Some(default.action), false);
    Some(Node::Action {
        action: table.actions[default.action],
        args: default.args.clone(),
        next,
    })
}

fn const_key(place: &Place, column: &KeyPart) -> Load<KeyField> {
    let width = column.source.width;
    let kind = place.need("match_type")?;
    if match_kind(&kind)? != column.kind {
        return kind.error(format!("the table's key is {:?} here", column.kind));
    }
    let limbs = |key: &str| place.need(key)?.hex_bits(width);
    // P4 programs may write value bits outside the mask; they mean nothing.
    let masked = |mut value: Vec<u64>, mask: &[u64]| {
        value.iter_mut().zip(mask).for_each(|(v, m)| *v &= m);
        value::to_be_bytes(&value)
    };
    Ok(match column.kind {
        MatchKind::Exact if kind.text()? == "valid" => KeyField::Exact(vec![u8::from(place.need("key")?.boolean()?)]),
        MatchKind::Exact => KeyField::Exact(value::to_be_bytes(&limbs("key")?)),
        MatchKind::Lpm => {
            let prefix_len = place.need("prefix_length")?.number(u64::from(width))? as u32;
            let mut prefix = vec![u64::MAX; limbs_for(width)];
            value::shl(&mut prefix, u64::from(width - prefix_len));
            KeyField::Lpm {
                value: masked(limbs("key")?, &prefix),
                prefix_len,
            }
        }
        MatchKind::Ternary => {
            let mask = limbs("mask")?;
            KeyField::Ternary {
                value: masked(limbs("key")?, &mask),
                mask: value::to_be_bytes(&mask),
            }
        }
        MatchKind::Range => {
            let (low, high) = (limbs("start")?, limbs("end")?);
            if value::compare_unsigned(&low, &high).is_gt() {
                return place.error("the range is empty");
            }
            KeyField::Range {
                low: value::to_be_bytes(&low),
                high: value::to_be_bytes(&high),
            }
        }
    })
}

fn match_kind(place: &Place) -> Load<MatchKind> {
    Ok(match place.text()? {
        // Older compilers match so on a header's validity; later ones on its field `$valid$`.
        "exact" | "valid" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" | "optional" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        other => return place.error(format!("match kind `{other}` is not supported")),
    })
}

fn strength(kind: MatchKind) -> u8 {
    match kind {
        MatchKind::Exact => 0,
        MatchKind::Lpm => 1,
        MatchKind::Ternary => 2,
        MatchKind::Range => 3,
    }
}

/// The node that a member names; null and missing mean the end.
fn next(place: &Place, key: &str, nodes: &BTreeMap<String, usize>) -> Load<Option<usize>> {
    let Some(name) = place.get(key)? else { return Ok(None) };
    match nodes.get(name.text()?) {
        Some(&node) => Ok(Some(node)),
        None => name.error("no such table, condition or action call"),
    }
}
