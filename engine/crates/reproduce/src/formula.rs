// SPDX-License-Identifier: Apache-2.0
//! Formulas over what several runs showed.
//!
//! ```text
//! U(xcp@9) / U(paced@9)                        a quantity of a run; values are lists, mostly of one number
//! mean(U(xcp@3..6) / U(paced@3..6))            of the runs xcp@3, xcp@4.5, xcp@6, by their number
//! first_at_least(x(tcp@1..1000), U(tcp@1..1000), 0.95 * U(xcp@9))
//! median(seeds(U(xcp@9)))                      of the values that U has with each seed
//! ```
//!
//! Lists are joined number by number, one number with each of a list. What a run does not have makes the whole unknown.

use std::collections::{BTreeMap, BTreeSet};

use slotwise_observe::stats;

/// A formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Formula {
    Number(f64),
    /// A quantity of runs, one after the other.
    Of(String, Vec<String>),
    /// A quantity of the run that the formula is evaluated for.
    Here(String),
    /// The numbers in the names of runs.
    Parameters(Vec<f64>),
    Join(Operator, Box<Formula>, Box<Formula>),
    Call(Function, Vec<Formula>),
    /// The numbers that a formula has with each seed, the first seed first.
    Seeds(Box<Formula>),
}

/// What joins two lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// What makes of lists a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Function {
    /// The smallest, largest, mean, geometric mean and sum of a list.
    Least,
    Most,
    Mean,
    GeometricMean,
    Sum,
    /// The median; of an even number, the mean of the two in the middle.
    Median,
    /// How many different numbers a list has.
    Distinct,
    /// Of two lists: Spearman's rank correlation; of the least-squares line of the second over the first, the slope and R^2; the same of
    /// the line through 0.
    Spearman,
    Slope,
    RSquared,
    SlopeThroughZero,
    RSquaredThroughZero,
    /// The largest and smallest of several lists, number by number.
    Larger,
    Smaller,
    Logarithm,
    Root,
    Absolute,
    /// A list, the largest first.
    Sorted,
    /// So many of its largest numbers, the largest first: all of them if there are no more.
    Top,
    /// 1 where the first is at least the second, or above it; else 0.
    AtLeast,
    Above,
    /// Where the first is 0 the third, else the second.
    If,
    /// Of parameters, their values and a bound, the least parameter at which the value is at least, or at most, the bound: interpolated in the
    /// logarithm of the parameter.
    FirstAtLeast,
    FirstAtMost,
    /// The second one, interpolated in the parameter itself.
    LinearAtMost,
}

const FUNCTIONS: [(&str, Function, usize); 25] = [
    ("least", Function::Least, 1),
    ("most", Function::Most, 1),
    ("mean", Function::Mean, 1),
    ("geomean", Function::GeometricMean, 1),
    ("sum", Function::Sum, 1),
    ("median", Function::Median, 1),
    ("distinct", Function::Distinct, 1),
    ("spearman", Function::Spearman, 2),
    ("slope", Function::Slope, 2),
    ("r2", Function::RSquared, 2),
    ("slope0", Function::SlopeThroughZero, 2),
    ("r2_0", Function::RSquaredThroughZero, 2),
    ("max", Function::Larger, usize::MAX),
    ("min", Function::Smaller, usize::MAX),
    ("log10", Function::Logarithm, 1),
    ("sqrt", Function::Root, 1),
    ("abs", Function::Absolute, 1),
    ("sorted", Function::Sorted, 1),
    ("top", Function::Top, 2),
    ("at_least", Function::AtLeast, 2),
    ("above", Function::Above, 2),
    ("if", Function::If, 3),
    ("first_at_least", Function::FirstAtLeast, 3),
    ("first_at_most", Function::FirstAtMost, 3),
    ("linear_at_most", Function::LinearAtMost, 3),
];
/// The quantity that is the number in a run's name.
const PARAMETER: &str = "x";
/// Parts of a formula are read and reckoned one within the other: both bound how deep that goes.
const MOST_BYTES: usize = 4096;
const MOST_DEPTH: usize = 64;
/// What makes a list of a number of each seed.
const SEEDS: &str = "seeds";

/// What quantities are worth, by their name and run.
pub(crate) type Values = BTreeMap<(String, String), Vec<f64>>;

/// What is known of runs where a formula is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    /// By seed, the first one first.
    pub(crate) seeds: &'k [Values],
    /// The seed, by its place.
    pub(crate) seed: usize,
}

/// The runs that `NAME` or `BASE@FROM..TO` stands for, by number.
fn runs_of(text: &str, runs: &BTreeSet<&str>) -> Result<Vec<String>, String> {
    let unknown = || format!("unknown run '{text}'");
    let Some((base, range)) = text.split_once('@').filter(|(_, range)| range.contains("..")) else {
        return runs.contains(text).then(|| vec![text.to_owned()]).ok_or_else(unknown);
    };
    let ends: Option<Vec<f64>> = range.split("..").map(|end| end.parse().ok()).collect();
    let Some(&[from, to]) = ends.as_deref() else {
        return Err(format!("invalid range of runs '{text}'; expected BASE@FROM..TO"));
    };
    let mut found: Vec<(f64, String)> = runs
        .iter()
        .filter(|run| run.split_once('@').is_some_and(|(of, _)| of == base))
        .filter_map(|run| Some((parameter(run)?, (*run).to_owned())))
        .filter(|(at, _)| (from..=to).contains(at))
        .collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    if found.is_empty() {
        return Err(unknown());
    }
    Ok(found.into_iter().map(|(_, run)| run).collect())
}

/// The number in a run's name.
fn parameter(run: &str) -> Option<f64> {
    run.split_once('@')?.1.parse().ok()
}

struct Parser<'p> {
    rest: &'p str,
    quantities: &'p BTreeSet<&'p str>,
    runs: &'p BTreeSet<&'p str>,
}

impl Parser<'_> {
    fn takes(&mut self, sign: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn needs(&mut self, sign: char) -> Result<(), String> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(format!("missing '{sign}' before '{}'", self.rest))
    }

    /// The characters that come first and are of a kind.
    fn word(&mut self, is_part: impl Fn(char) -> bool) -> String {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    fn sum(&mut self) -> Result<Formula, String> {
        let mut sum = self.product()?;
        loop {
            let operator = match () {
                () if self.takes('+') => Operator::Add,
                () if self.takes('-') => Operator::Subtract,
                () => return Ok(sum),
            };
            sum = Formula::Join(operator, Box::new(sum), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Formula, String> {
        let mut product = self.part()?;
        loop {
            let operator = match () {
                () if self.takes('*') => Operator::Multiply,
                () if self.takes('/') => Operator::Divide,
                () => return Ok(product),
            };
            product = Formula::Join(operator, Box::new(product), Box::new(self.part()?));
        }
    }

    fn part(&mut self) -> Result<Formula, String> {
        if self.takes('(') {
            let inner = self.sum()?;
            self.needs(')')?;
            return Ok(inner);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let word = self.word(|c| c.is_ascii_alphanumeric() || c == '.');
            return word
                .parse()
                .map(Formula::Number)
                .map_err(|_| format!("invalid number '{word}'"));
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_quantity = self.quantities.contains(name.as_str());
        if is_quantity && !self.takes('(') {
            return Ok(Formula::Here(name));
        }
        if is_quantity || name == PARAMETER {
            if !is_quantity {
                self.needs('(')?;
            }
            let of = self.word(|c| c != ')');
            self.needs(')')?;
            let mut runs = Vec::new();
            for pattern in of.split_whitespace() {
                runs.extend(runs_of(pattern, self.runs)?);
            }
            if is_quantity {
                return Ok(Formula::Of(name, runs));
            }
            let numbers: Option<Vec<f64>> = runs.iter().map(|run| parameter(run)).collect();
            return numbers
                .map(Formula::Parameters)
                .ok_or_else(|| format!("runs of '{of}' without a number; expected NAME@NUMBER"));
        }
        if name == SEEDS {
            self.needs('(')?;
            let inner = self.sum()?;
            self.needs(')')?;
            return Ok(Formula::Seeds(Box::new(inner)));
        }
        let Some((_, function, most)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            return Err(format!("unknown quantity or function '{name}' before '{}'", self.rest));
        };
        self.needs('(')?;
        let mut parts = vec![self.sum()?];
        while self.takes(',') {
            parts.push(self.sum()?);
        }
        self.needs(')')?;
        if parts.len() > *most || (*most < usize::MAX && parts.len() < *most) {
            return Err(format!("{name}: expected {most} arguments, got {}", parts.len()));
        }
        Ok(Formula::Call(*function, parts))
    }
}

/// Reads a formula over quantities of runs.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(text: &str, quantities: &BTreeSet<&str>, runs: &BTreeSet<&str>) -> Result<Formula, String> {
    let depths = text.bytes().scan(0usize, |depth, sign| {
        match sign {
            b'(' => *depth += 1,
            b')' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if text.len() > MOST_BYTES || depths.max() > Some(MOST_DEPTH) {
        return Err(format!(
            "formula too large; expected at most {MOST_BYTES} bytes and {MOST_DEPTH} levels of parentheses"
        ));
    }
    let mut parser = Parser {
        rest: text,
        quantities,
        runs,
    };
    let formula = parser.sum()?;
    if !parser.rest.trim().is_empty() {
        return Err(format!("unexpected '{}' after the formula", parser.rest));
    }
    Ok(formula)
}

/// Joins two lists, number by number; `None` if they are of different lengths.
fn joined(one: &[f64], other: &[f64], join: impl Fn(f64, f64) -> f64) -> Option<Vec<f64>> {
    let length = one.len().max(other.len());
    let fits = |list: &[f64]| list.len() == length || list.len() == 1;
    if !fits(one) || !fits(other) {
        return None;
    }
    let at = |list: &[f64], place: usize| if list.len() == 1 { list[0] } else { list[place] };
    Some(
        (0..length)
            .map(|place| join(at(one, place), at(other, place)))
            .collect(),
    )
}

/// The least x at which y comes to a bound, whichever way it goes, interpolated linearly.
fn first(xs: &[f64], ys: &[f64], is_there: impl Fn(f64) -> bool, bound: f64) -> Option<f64> {
    let place = ys.iter().position(|y| is_there(*y)).filter(|place| *place < xs.len())?;
    let Some(before) = place.checked_sub(1) else {
        return xs.first().copied();
    };
    let part = (bound - ys[before]) / (ys[place] - ys[before]);
    Some(xs[before] + part * (xs[place] - xs[before]))
}

impl Formula {
    /// The runs that it looks at.
    pub(crate) fn runs(&self) -> BTreeSet<&str> {
        match self {
            Formula::Number(_) | Formula::Here(_) | Formula::Parameters(_) => BTreeSet::new(),
            Formula::Of(_, runs) => runs.iter().map(String::as_str).collect(),
            Formula::Join(_, one, other) => one.runs().into_iter().chain(other.runs()).collect(),
            Formula::Call(_, parts) => parts.iter().flat_map(Formula::runs).collect(),
            Formula::Seeds(inner) => inner.runs(),
        }
    }

    /// Whether it looks at all seeds at once.
    pub(crate) fn is_over_seeds(&self) -> bool {
        match self {
            Formula::Number(_) | Formula::Of(..) | Formula::Here(_) | Formula::Parameters(_) => false,
            Formula::Join(_, one, other) => one.is_over_seeds() || other.is_over_seeds(),
            Formula::Call(_, parts) => parts.iter().any(Formula::is_over_seeds),
            Formula::Seeds(_) => true,
        }
    }

    /// Its value, for a run if it is one of a run; `None` if something of it is not known, or not finite.
    pub(crate) fn value(&self, run: &str, known: Known) -> Option<Vec<f64>> {
        let of = |quantity: &String, run: &str| {
            let values = known.seeds.get(known.seed)?;
            values.get(&(quantity.clone(), run.to_owned())).cloned()
        };
        let value = match self {
            Formula::Number(number) => vec![*number],
            Formula::Here(quantity) => of(quantity, run)?,
            Formula::Of(quantity, runs) => {
                let all: Option<Vec<Vec<f64>>> = runs.iter().map(|run| of(quantity, run)).collect();
                all?.concat()
            }
            Formula::Parameters(numbers) => numbers.clone(),
            Formula::Join(operator, one, other) => {
                let (one, other) = (one.value(run, known)?, other.value(run, known)?);
                joined(&one, &other, |one, other| match operator {
                    Operator::Add => one + other,
                    Operator::Subtract => one - other,
                    Operator::Multiply => one * other,
                    Operator::Divide => one / other,
                })?
            }
            Formula::Call(function, parts) => {
                let parts: Option<Vec<Vec<f64>>> = parts.iter().map(|part| part.value(run, known)).collect();
                function.value(&parts?)?
            }
            Formula::Seeds(inner) => {
                let of_seed = |seed| match inner.value(run, Known { seed, ..known })?.as_slice() {
                    [number] => Some(*number),
                    _ => None,
                };
                (0..known.seeds.len()).map(of_seed).collect::<Option<Vec<f64>>>()?
            }
        };
        value.iter().all(|number| number.is_finite()).then_some(value)
    }
}

impl Function {
    fn value(self, parts: &[Vec<f64>]) -> Option<Vec<f64>> {
        let list = parts.first()?;
        let reduced = |join: fn(f64, f64) -> f64| list.iter().copied().reduce(join).map(|number| vec![number]);
        let each = |make: fn(f64) -> f64| Some(list.iter().copied().map(make).collect::<Vec<f64>>());
        let all = |join: fn(f64, f64) -> f64| {
            let mut others = parts[1..].iter();
            others.try_fold(list.clone(), |found, other| joined(&found, other, join))
        };
        let mean = |list: &[f64]| (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64);
        let bound = || parts.get(2).and_then(|bound| bound.first()).copied();
        let of_two = |what: fn(&[f64], &[f64]) -> Option<f64>| what(list, parts.get(1)?).map(|number| vec![number]);
        let logarithms = || list.iter().map(|x| libm::log(*x)).collect::<Vec<f64>>();
        match self {
            Function::Least => reduced(f64::min),
            Function::Most => reduced(f64::max),
            Function::Mean => mean(list).map(|mean| vec![mean]),
            Function::GeometricMean => mean(&each(libm::log)?).map(|mean| vec![libm::exp(mean)]),
            Function::Sum => Some(vec![list.iter().sum()]),
            Function::Median => stats::median(list).map(|median| vec![median]),
            Function::Distinct => {
                let mut sorted = list.clone();
                sorted.sort_by(f64::total_cmp);
                sorted.dedup();
                Some(vec![sorted.len() as f64])
            }
            Function::Spearman => of_two(stats::spearman),
            Function::Slope => of_two(|xs, ys| stats::line(xs, ys).map(|line| line.slope)),
            Function::RSquared => of_two(|xs, ys| stats::line(xs, ys).map(|line| line.r_squared)),
            Function::SlopeThroughZero => of_two(|xs, ys| stats::line_through_zero(xs, ys).map(|line| line.slope)),
            Function::RSquaredThroughZero => {
                of_two(|xs, ys| stats::line_through_zero(xs, ys).map(|line| line.r_squared))
            }
            Function::Larger => all(f64::max),
            Function::Smaller => all(f64::min),
            Function::Logarithm => each(libm::log10),
            Function::Root => each(f64::sqrt),
            Function::Absolute => each(f64::abs),
            Function::Sorted | Function::Top => {
                let mut sorted = list.clone();
                sorted.sort_by(|one, other| other.total_cmp(one));
                if self == Function::Top {
                    sorted.truncate(*parts.get(1)?.first()? as usize);
                }
                Some(sorted)
            }
            Function::AtLeast => joined(list, parts.get(1)?, |one, other| f64::from(u8::from(one >= other))),
            Function::Above => joined(list, parts.get(1)?, |one, other| f64::from(u8::from(one > other))),
            Function::If => {
                let (yes, no) = (parts.get(1)?, parts.get(2)?);
                let no = joined(list, no, |is, no| if is == 0.0 { no } else { 0.0 })?;
                let yes = joined(list, yes, |is, yes| if is == 0.0 { 0.0 } else { yes })?;
                joined(&yes, &no, |yes, no| yes + no)
            }
            Function::FirstAtLeast => {
                let bound = bound()?;
                first(&logarithms(), parts.get(1)?, |y| y >= bound, bound).map(|x| vec![libm::exp(x)])
            }
            Function::FirstAtMost => {
                let bound = bound()?;
                first(&logarithms(), parts.get(1)?, |y| y <= bound, bound).map(|x| vec![libm::exp(x)])
            }
            Function::LinearAtMost => {
                let bound = bound()?;
                first(list, parts.get(1)?, |y| y <= bound, bound).map(|x| vec![x])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: [&str; 6] = ["tcp@1", "tcp@10", "tcp@100", "xcp-ack@10", "xcp@10", "alone"];

    fn parsed(text: &str) -> Result<Formula, String> {
        parse(text, &["U", "P", "each"].into(), &RUNS.into())
    }

    fn value(text: &str) -> Option<Vec<f64>> {
        let mut values = Values::new();
        let known: [(&str, &str, &[f64]); 7] = [
            ("U", "tcp@1", &[0.2]),
            ("U", "tcp@10", &[0.4]),
            ("U", "tcp@100", &[0.8]),
            ("U", "xcp@10", &[0.6]),
            ("P", "tcp@10", &[0.0]),
            ("each", "xcp@10", &[0.3, 0.9, 0.6]),
            ("each", "xcp-ack@10", &[0.5, 0.5, 0.8]),
        ];
        for (quantity, run, of) in known {
            values.insert((quantity.to_owned(), run.to_owned()), of.to_vec());
        }
        let mut other = values.clone();
        other.insert(("U".to_owned(), "xcp@10".to_owned()), vec![0.9]);
        let known = Known {
            seeds: &[values, other.clone(), other],
            seed: 0,
        };
        parsed(text).unwrap().value("xcp@10", known)
    }

    /// A value of one number, to nine places.
    fn one(text: &str) -> f64 {
        let found = value(text).unwrap();
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        (found[0] * 1e9).round() / 1e9
    }

    #[test]
    fn signs_bind_as_usual_and_lists_are_joined_number_by_number() {
        assert_eq!(one("1 + 2 * 3 - 8 / 4 / 2"), 6.0);
        assert_eq!(one("(1 + 2) * 3"), 9.0);
        assert_eq!(one("U(xcp@10) / U(tcp@10)"), 1.5);
        assert_eq!(one("U / 2"), 0.3, "of the run that it is evaluated for");
        assert_eq!(value("U(tcp@1..50 xcp@10)").unwrap(), [0.2, 0.4, 0.6]);
        assert_eq!(value("1e6 * U(tcp@10)").unwrap(), [4e5]);
        assert_eq!(one("most(max(each(xcp@10), each(xcp-ack@10)) - each(xcp-ack@10))"), 0.4);
        assert_eq!(
            one("mean(abs(sorted(each(xcp@10)) - sorted(each(xcp-ack@10))))"),
            0.133333333
        );
        assert_eq!(
            value("top(each(xcp@10), 2)").unwrap(),
            value("sorted(each(xcp@10))").unwrap()[..2]
        );
        assert_eq!(one("mean(at_least(each(xcp@10), 0.6))"), 0.666666667);
        assert_eq!(one("sum(above(each(xcp@10), 0.6) * above(0.7, each(xcp-ack@10)))"), 1.0);
        assert_eq!(one("sum(if(at_least(each(xcp@10), 0.6), 10, each(xcp-ack@10)))"), 20.5);
        assert_eq!(one("geomean(U(tcp@1..10)) * geomean(U(tcp@1..10))"), 0.08);
        assert_eq!(one("least(U(tcp@1..100)) + log10(1000)"), 3.2);
        assert_eq!(value("min(U(tcp@10), 0.1)").unwrap(), [0.1]);
    }

    #[test]
    fn a_bound_is_come_to_between_two_parameters() {
        let first = |what: &str| one(&format!("log10({what})"));
        assert_eq!(first("first_at_least(x(tcp@1..100), U(tcp@1..100), 0.6)"), 1.5);
        assert_eq!(first("first_at_most(x(tcp@1..100), 1 - U(tcp@1..100), 0.7)"), 0.5);
        assert_eq!(
            first("first_at_least(x(tcp@1..100), U(tcp@1..100), 0.1)"),
            0.0,
            "from the first one on"
        );
        assert_eq!(
            value("first_at_least(x(tcp@1..100), U(tcp@1..100), 0.9)"),
            None,
            "never"
        );
    }

    #[test]
    fn all_seeds_can_be_looked_at_at_once() {
        assert_eq!(value("seeds(U(xcp@10) - U(tcp@10))").unwrap().len(), 3);
        assert_eq!(one("median(seeds(U(xcp@10)))"), 0.9);
        assert_eq!(one("distinct(seeds(U(xcp@10)))"), 2.0);
        assert_eq!(one("spearman(seeds(U(xcp@10)), seeds(1 - U(xcp@10)))"), -1.0);
        assert_eq!(
            value("spearman(seeds(U(xcp@10)), seeds(U(tcp@10)))"),
            None,
            "the second is the same"
        );
        assert_eq!(value("seeds(each(xcp@10))"), None, "each seed has one number");
        assert!(parsed("1 + mean(seeds(U))").unwrap().is_over_seeds());
        assert!(!parsed("1 + mean(U)").unwrap().is_over_seeds());
        assert_eq!(parsed("seeds(U(tcp@1))").unwrap().runs(), ["tcp@1"].into());
    }

    #[test]
    fn lines_and_ranks_are_of_two_lists() {
        // y = 0.2, 0.4, 0.8 over log10 x = 0, 1, 2: slope 0.3; through (1, 1.4 / 3); squares left 0.18667 - 2 * 0.09.
        assert_eq!(one("slope(log10(x(tcp@1..100)), U(tcp@1..100))"), 0.3);
        assert_eq!(one("r2(log10(x(tcp@1..100)), U(tcp@1..100))"), 0.964285714);
        // Through 0: (0.4 + 1.6) / 5 = 0.4; squares left 0.04, of 0.84.
        assert_eq!(one("slope0(log10(x(tcp@1..100)), U(tcp@1..100))"), 0.4);
        assert_eq!(one("r2_0(log10(x(tcp@1..100)), U(tcp@1..100))"), 0.952380952);
        assert_eq!(one("spearman(x(tcp@1..100), U(tcp@1..100))"), 1.0);
        assert_eq!(one("median(U(tcp@1..10)) + sqrt(U(tcp@10) * U(tcp@10))"), 0.7);
        assert_eq!(one("linear_at_most(x(tcp@1..100), 1 - U(tcp@1..100), 0.7)"), 5.5);
    }

    #[test]
    fn what_is_not_known_or_endless_has_no_value() {
        assert_eq!(value("P(xcp@10) + 1"), None);
        assert_eq!(value("1 / P(tcp@10)"), None);
        assert_eq!(value("log10(P(tcp@10))"), None);
        assert_eq!(
            value("U(tcp@1..100) + each(xcp@10) + U(tcp@1..10)"),
            None,
            "of different lengths"
        );
    }

    #[test]
    fn a_formula_is_neither_endless_nor_bottomless() {
        let nested = |depth: usize| "(".repeat(depth) + "1" + &")".repeat(depth);
        assert_eq!(value(&nested(MOST_DEPTH)), Some(vec![1.0]));
        assert!(parsed(&nested(MOST_DEPTH + 1)).unwrap_err().contains("64 levels"));
        assert!(parsed(&"(".repeat(100_000)).is_err());
        assert_eq!(value(&format!("1{}", "+1".repeat(2047))), Some(vec![2048.0]));
        assert!(parsed(&format!("1{}", "+1".repeat(500_000))).is_err());
    }

    #[test]
    fn a_formula_says_what_is_wrong_with_it_and_which_runs_it_needs() {
        let wrong = [
            ("U(ftp@1)", "unknown run 'ftp@1'"),
            ("U(tcp@200..300)", "unknown run 'tcp@200..300'"),
            ("U(tcp@1..x)", "invalid range of runs 'tcp@1..x'"),
            ("V(tcp@1)", "unknown quantity or function"),
            ("x(alone)", "runs of 'alone' without a number"),
            ("mean(1, 2)", "mean: expected 1 arguments, got 2"),
            ("(1", "missing ')'"),
            ("1 2", "unexpected '2' after the formula"),
        ];
        for (text, part) in wrong {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let formula = parsed("max(U(tcp@1..10), 2) / each(alone)").unwrap();
        assert_eq!(formula.runs(), ["tcp@1", "tcp@10", "alone"].into());
    }
}
