// SPDX-License-Identifier: Apache-2.0
//! From tokens to statements.

use crate::error::ParseError;
use crate::lexer::{Kind, Lexer, Place, Token};
use crate::script::{
    Call, Cell, Condition, Element, Located, Match, Number, Pattern, Rate, Relation, Script, Statement, Unit,
};

/// Longest packet, in bytes: more than any link layer carries.
const MAX_FRAME: usize = 65_535;
/// Ports are 9 bits wide, as in v1model.
const LAST_PORT: u64 = 511;

type Parsed<T> = Result<T, ParseError>;

/// Reads a script of one test.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let (mut tests, restart) = read(text)?;
    match restart {
        None => Ok(tests.swap_remove(0)),
        Some(place) => place.error("`restart` is not allowed in a single test"),
    }
}

/// Reads a file of tests, each for a fresh switch: `restart` on a line of its own is between two of them. There is at least one.
pub fn parse_tests(text: &str) -> Result<Vec<Script>, ParseError> {
    Ok(read(text)?.0)
}

/// All tests, and where the first `restart` is.
fn read(text: &str) -> Parsed<(Vec<Script>, Option<Place>)> {
    let mut parser = Parser::new(text)?;
    let mut tests = vec![Script::default()];
    let mut restart = None;
    while parser.next.kind != Kind::End {
        let place = parser.next.place;
        if parser.next.kind == Kind::Word && parser.next.text.eq_ignore_ascii_case("restart") {
            parser.take()?;
            restart.get_or_insert(place);
            tests.push(Script::default());
        } else {
            let statement = parser.statement()?;
            let line = place.line;
            if let Some(test) = tests.last_mut() {
                test.statements.push(Located { line, statement });
            }
        }
        if parser.next.kind != Kind::End && parser.next.place.line == parser.last_line {
            return parser.unexpected("the end of the line");
        }
    }
    Ok((tests, restart))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
    /// Line of the token before `next`.
    last_line: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Parser<'a>> {
        let mut lexer = Lexer::new(text);
        let next = lexer.token()?;
        Ok(Parser {
            lexer,
            next,
            last_line: 0,
        })
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let found = self.next.shown();
        self.next.place.error(format!("expected {wanted}, found {found}"))
    }

    fn take(&mut self) -> Parsed<Token<'a>> {
        self.last_line = self.next.place.line;
        let next = self.lexer.token()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn take_symbol(&mut self, symbol: &str) -> Parsed<bool> {
        let found = self.next.kind == Kind::Symbol && self.next.text == symbol;
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn symbol(&mut self, symbol: &str) -> Parsed<()> {
        match self.take_symbol(symbol)? {
            true => Ok(()),
            false => self.unexpected(&format!("`{symbol}`")),
        }
    }

    fn word(&mut self, wanted: &str) -> Parsed<Token<'a>> {
        match self.next.kind {
            Kind::Word => self.take(),
            _ => self.unexpected(wanted),
        }
    }

    /// Words, indices and slices: `a.b[1].c[7:0]`.
    fn name(&mut self, wanted: &str) -> Parsed<String> {
        let mut name = self.word(wanted)?.text.to_owned();
        loop {
            if self.take_symbol(".")? {
                name.push('.');
                name.push_str(self.word("a name")?.text);
            } else if self.take_symbol("[")? {
                let index = self.index("an index")?;
                let part = match self.take_symbol(":")? {
                    true => format!("[{index}:{}]", self.index("the slice's last bit")?),
                    false => format!("[{index}]"),
                };
                self.symbol("]")?;
                name.push_str(&part);
            } else {
                return Ok(name);
            }
        }
    }

    fn number(&mut self, wanted: &str) -> Parsed<Number> {
        if self.next.kind != Kind::Number {
            return self.unexpected(wanted);
        }
        let token = self.take()?;
        Number::parse(token.text).or_else(|reason| token.place.error(reason))
    }

    /// A number without `*`.
    fn plain_number(&mut self, wanted: &str) -> Parsed<Number> {
        let place = self.next.place;
        let number = self.number(wanted)?;
        match number.mask {
            None => Ok(number),
            Some(_) => place.error(format!("`*` is not allowed in {wanted}")),
        }
    }

    fn integer(&mut self, wanted: &str, largest: u64) -> Parsed<u64> {
        let place = self.next.place;
        match self.number(wanted)?.to_u64().filter(|&value| value <= largest) {
            Some(value) => Ok(value),
            None => place.error(format!("{wanted}: expected a number in 0..={largest}")),
        }
    }

    fn index(&mut self, wanted: &str) -> Parsed<u32> {
        Ok(self.integer(wanted, u64::from(u32::MAX))? as u32)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let keyword = self.next;
        if keyword.kind != Kind::Word {
            return self.unexpected("a statement");
        }
        let name = keyword.text.to_ascii_lowercase();
        // Their data is no sequence of tokens, so nothing may be read ahead.
        if name == "packet" || name == "expect" {
            return self.packet_or_expect(name == "packet");
        }
        self.take()?;
        match name.as_str() {
            "no_packet" => Ok(Statement::NoPacket),
            "wait" => Ok(Statement::Wait),
            "add" => self.add(),
            "setdefault" => Ok(Statement::SetDefault {
                table: self.name("a table")?,
                action: self.call()?,
            }),
            "remove" => match self.word("`all`")?.text.to_ascii_lowercase().as_str() {
                "all" => Ok(Statement::RemoveAll),
                _ => keyword.place.error("expected `all` after `remove`"),
            },
            "check_counter" => self.check_counter(),
            "counter_read" => Ok(Statement::CounterRead(self.element("a counter")?)),
            "counter_write" => Ok(Statement::CounterWrite {
                cell: self.element("a counter")?,
                packets: self.integer("packets", u64::MAX)?,
                bytes: self.integer("bytes", u64::MAX)?,
            }),
            "register_read" => Ok(Statement::RegisterRead(self.element("a register")?)),
            "register_write" => Ok(Statement::RegisterWrite {
                cell: self.element("a register")?,
                value: self.plain_number("a value")?,
            }),
            "register_reset" => Ok(Statement::RegisterReset(self.name("a register")?)),
            "meter_get_rates" => Ok(Statement::MeterGetRates(self.element("a meter")?)),
            "meter_set_rates" => {
                let Element { name, index } = self.element("a meter")?;
                self.meter_rates(name, Some(index))
            }
            "meter_array_set_rates" => {
                let meter = self.name("a meter")?;
                self.meter_rates(meter, None)
            }
            _ => match self.replication(&name)? {
                Some(statement) => Ok(statement),
                None => keyword.place.error(format!("unknown statement `{}`", keyword.text)),
            },
        }
    }

    /// Statements about clones and multicast.
    fn replication(&mut self, name: &str) -> Parsed<Option<Statement>> {
        let statement = match name {
            "mirroring_add" => Statement::MirroringAdd {
                session: self.index("a session")?,
                port: self.port()?,
            },
            "mirroring_add_mc" => Statement::MirroringAddGroup {
                session: self.index("a session")?,
                group: self.index("a group")?,
            },
            "mirroring_delete" => Statement::MirroringDelete(self.index("a session")?),
            "mirroring_get" => Statement::MirroringGet(self.index("a session")?),
            "mc_mgrp_create" => Statement::GroupCreate(self.index("a group")?),
            "mc_node_create" => Statement::NodeCreate {
                instance: self.integer("a replication id", u64::from(u16::MAX))? as u16,
                ports: self.ports()?,
            },
            "mc_node_update" => Statement::NodeUpdate {
                node: self.index("a node")?,
                ports: self.ports()?,
            },
            "mc_node_associate" => Statement::NodeAssociate {
                group: self.index("a group")?,
                node: self.index("a node")?,
            },
            _ => return Ok(None),
        };
        Ok(Some(statement))
    }

    fn port(&mut self) -> Parsed<u16> {
        Ok(self.integer("a port", LAST_PORT)? as u16)
    }

    fn ports(&mut self) -> Parsed<Vec<u16>> {
        let mut ports = vec![self.port()?];
        while self.next.kind == Kind::Number && self.next.place.line == self.last_line {
            ports.push(self.port()?);
        }
        Ok(ports)
    }

    fn element(&mut self, wanted: &str) -> Parsed<Element> {
        Ok(Element {
            name: self.name(wanted)?,
            index: self.index("an index")?,
        })
    }

    fn add(&mut self) -> Parsed<Statement> {
        let table = self.name("a table")?;
        let priority = match self.next.kind {
            // One less than the largest, as the engine's priorities begin with 1.
            Kind::Number => Some(self.integer("a priority", i32::MAX as u64 - 1)? as u32),
            _ => None,
        };
        let mut key = Vec::new();
        let action = loop {
            let name = self.name("a key field or an action")?;
            if self.take_symbol(":")? {
                key.push((name, self.match_value()?));
            } else {
                break self.arguments(name)?;
            }
        };
        let mut others = Vec::new();
        while self.next.kind == Kind::Word && self.next.place.line == self.last_line {
            others.push(self.call()?);
        }
        let id = match self.take_symbol("=")? {
            true => Some(entry_id(self.word("a name of the entry")?)?),
            false => None,
        };
        Ok(Statement::Add {
            table,
            priority,
            key,
            action,
            others,
            id,
        })
    }

    fn match_value(&mut self) -> Parsed<Match> {
        let place = self.next.place;
        let number = self.number("a number")?;
        let is_plain = number.mask.is_none();
        let found = if self.take_symbol("/")? {
            Match::Prefix(number, self.index("a prefix length")?)
        } else if self.take_symbol("&&&")? {
            Match::Masked(number, self.plain_number("a mask")?)
        } else if self.take_symbol("->")? {
            Match::Range(number, self.plain_number("the high end")?)
        } else {
            return Ok(Match::Number(number));
        };
        match is_plain {
            true => Ok(found),
            false => place.error("a number with `*` cannot be combined with a mask or prefix"),
        }
    }

    fn call(&mut self) -> Parsed<Call> {
        let action = self.name("an action")?;
        self.arguments(action)
    }

    fn arguments(&mut self, action: String) -> Parsed<Call> {
        self.symbol("(")?;
        let mut args = Vec::new();
        while !self.take_symbol(")")? {
            if !args.is_empty() {
                self.symbol(",")?;
            }
            let name = self.name("a parameter")?;
            self.symbol(":")?;
            args.push((name, self.plain_number("an argument")?));
        }
        Ok(Call { action, args })
    }

    fn check_counter(&mut self) -> Parsed<Statement> {
        let counter = self.name("a counter")?;
        self.symbol("(")?;
        let cell = match self.next.kind {
            Kind::Word => Cell::Entry(entry_id(self.take()?)?),
            _ => Cell::Index(self.index("an index or the id of an entry")?),
        };
        self.symbol(")")?;
        let unit = match self.next.text.to_ascii_lowercase().as_str() {
            "packets" => Unit::Packets,
            "bytes" => Unit::Bytes,
            _ => {
                return Ok(Statement::CheckCounter {
                    counter,
                    cell,
                    condition: None,
                });
            }
        };
        self.take()?;
        let relation = match self.next.text {
            "==" => Relation::Equal,
            "!=" => Relation::NotEqual,
            "<" => Relation::Less,
            "<=" => Relation::AtMost,
            ">" => Relation::Greater,
            ">=" => Relation::AtLeast,
            _ => return self.unexpected("a comparison"),
        };
        self.take()?;
        let value = self.integer("a count", u64::MAX)?;
        Ok(Statement::CheckCounter {
            counter,
            cell,
            condition: Some(Condition { unit, relation, value }),
        })
    }

    fn meter_rates(&mut self, meter: String, index: Option<u32>) -> Parsed<Statement> {
        Ok(Statement::MeterSetRates {
            meter,
            index,
            rates: [self.rate()?, self.rate()?],
        })
    }

    /// `RATE:BURST`; the rate is per microsecond and may have a fraction.
    fn rate(&mut self) -> Parsed<Rate> {
        const PER_SECOND: u64 = 1_000_000;
        let place = self.next.place;
        let whole = self.integer("a rate", u64::MAX / PER_SECOND - 1)? * PER_SECOND;
        let mut part = 0;
        if self.take_symbol(".")? {
            let fraction = self.next.text;
            if self.next.kind != Kind::Number || fraction.len() > 6 || !fraction.chars().all(|c| c.is_ascii_digit()) {
                return place.error("rate: expected at most six decimal places");
            }
            // Six digits at most, so it fits.
            part = format!("{fraction:0<6}").parse().unwrap_or(0);
            self.take()?;
        }
        self.symbol(":")?;
        Ok(Rate {
            per_second: whole + part,
            burst: self.integer("a burst", u64::MAX)?,
        })
    }

    fn packet_or_expect(&mut self, is_packet: bool) -> Parsed<Statement> {
        // `next` is the keyword: the lexer stands behind it.
        let data = self.lexer.clone().data();
        let end_of_line = data.last().map_or(self.next.place, |&(place, _)| place);
        self.last_line = self.next.place.line;
        let port = self.lexer.token()?;
        if port.kind != Kind::Number || port.place.line != self.last_line {
            return end_of_line.error("expected a port");
        }
        let number = Number::parse(port.text).ok().and_then(|number| number.to_u64());
        let Some(number) = number.filter(|&number| number <= LAST_PORT) else {
            return port.place.error(format!("port: expected a number in 0..={LAST_PORT}"));
        };
        let data = self.lexer.data();
        self.next = self.lexer.token()?;
        let port = number as u16;
        if is_packet {
            let frame = frame(&data, end_of_line)?;
            return Ok(Statement::Packet { port, frame });
        }
        let pattern = match data.is_empty() {
            true => None,
            false => Some(pattern(&data)?),
        };
        Ok(Statement::Expect { port, pattern })
    }
}

/// Reads the id of an entry: `A` and `$A` are the same, and `$` alone is none.
fn entry_id(token: Token) -> Parsed<String> {
    match token.text.trim_start_matches('$') {
        "" => token.place.error("`$` alone; expected the id of an entry"),
        id => Ok(id.to_owned()),
    }
}

/// The bytes of a packet.
fn frame(data: &[(Place, char)], end: Place) -> Parsed<Vec<u8>> {
    if data.len() > 2 * MAX_FRAME {
        return end.error(format!("packet too long; expected at most {MAX_FRAME} bytes"));
    }
    let mut bytes = Vec::with_capacity(data.len() / 2);
    for pair in data.chunks(2) {
        let mut byte = 0;
        for &(place, character) in pair {
            match character.to_digit(16) {
                Some(digit) => byte = byte << 4 | digit as u8,
                None => return place.error(format!("`{character}` is not a hexadecimal digit")),
            }
        }
        if pair.len() == 1 {
            return end.error("packet with an odd number of digits; expected two per byte");
        }
        bytes.push(byte);
    }
    match bytes.is_empty() {
        true => end.error("empty packet; expected at least one byte"),
        false => Ok(bytes),
    }
}

fn pattern(data: &[(Place, char)]) -> Parsed<Pattern> {
    let (data, exact) = match data {
        [before @ .., (_, '$')] => (before, true),
        _ => (data, false),
    };
    let nibble = |&(place, character): &(Place, char)| match character {
        '*' => Ok(None),
        '$' => place.error("`$` is only allowed at the end of an expected packet"),
        _ => match character.to_digit(16) {
            Some(digit) => Ok(Some(digit as u8)),
            None => place.error(format!("`{character}` is neither a hexadecimal digit nor `*` nor `$`")),
        },
    };
    Ok(Pattern {
        nibbles: data.iter().map(nibble).collect::<Parsed<_>>()?,
        exact,
    })
}
