// SPDX-License-Identifier: Apache-2.0
use super::*;

fn entry(plot: &str, fact: &str) -> Entry {
    let text = format!(
        "{{id: e, title: t, published: p, plot: {plot}, facts: [{{text: t, where: w, from_s: 2, to_s: 4, band: [60, 90], why: y, {fact}}}]}}"
    );
    serde_yaml_ng::from_str(&text).unwrap()
}

const QUEUE: &str = "{table: queues, column: sent_bytes, of: [edge0->edge1]}";

/// Two seconds of a queue that sent so much of 100 bytes granted a period.
fn recording(sent_bytes: f64) -> Recording {
    let mut recording = Recording::default();
    for second in 1..=4u32 {
        let sent = if second == 1 { 0.0 } else { sent_bytes };
        let row = [f64::from(second), 0.0, 0.0, 0.0, 0.0, 1.0, 100.0, sent, 0.0, 0.0, 0.0];
        recording.queues.push("edge0->edge1", row);
    }
    recording
}

#[test]
fn a_line_is_the_mean_over_all_seeds_with_its_spread_in_percent_of_what_was_granted() {
    let text = format!("{{runs: [a, b], draw: {QUEUE}, percent_of: granted_bytes, mean_over_s: 2}}");
    let plot: Plot = serde_yaml_ng::from_str(&text).unwrap();
    let lines = lines(&plot, "b", &[recording(60.0), recording(80.0)], 1.0).unwrap();
    let point = |x, y, low, high| Point { x, y, low, high };
    let points = vec![point(2.0, 35.0, 30.0, 40.0), point(4.0, 70.0, 60.0, 80.0)];
    assert_eq!(
        lines,
        [Line {
            name: "b".to_owned(),
            points
        }]
    );
}

#[test]
fn one_run_may_be_named_alone_and_its_lines_keep_their_own_names() {
    let plot: Plot = serde_yaml_ng::from_str(&format!("{{run: a, draw: {QUEUE}}}")).unwrap();
    let lines = lines(&plot, "a", &[recording(60.0)], 1.0).unwrap();
    assert_eq!((lines[0].name.as_str(), lines[0].points.len()), ("edge0->edge1", 4));
}

#[test]
fn bands_and_published_values_of_what_is_drawn_are_in_the_picture() {
    let plot = format!("{{run: a, draw: {QUEUE}}}");
    let line = Line {
        name: "ours".to_owned(),
        points: spread(&[vec![(1.0, 50.0), (5.0, 100.0)]]),
    };
    let drawn = |fact: &str| {
        let entry = entry(&plot, fact);
        draw(&entry, entry.plot.as_ref().unwrap(), std::slice::from_ref(&line), 1.0).unwrap()
    };
    let with = drawn(&format!("run: a, measure: {QUEUE}, stat: mean, published: 75"));
    assert!(
        with.contains("band of a fact") && !with.contains("band of an extreme"),
        "{with}"
    );
    assert!(with.contains("published"));
    let extreme = drawn(&format!("run: a, measure: {QUEUE}, stat: max"));
    assert!(
        extreme.contains("band of an extreme") && !extreme.contains("band of a fact"),
        "{extreme}"
    );
    assert!(!extreme.contains("published"));
    for other in [
        format!("run: b, measure: {QUEUE}, stat: mean, published: 75"),
        format!("run: a, measure: {QUEUE}, stat: sum"),
        format!("run: a, measure: {QUEUE}, stat: {{percent: {{of: granted_bytes}}}}"),
    ] {
        assert!(!drawn(&other).contains("band"), "{other}");
    }
}

#[test]
fn columns_are_called_by_words_and_units() {
    for (column, words) in [
        ("rate_kbyte_s", "rate, kB/s"),
        ("worst_error_ns", "worst error, ns"),
        ("mean_queue_packets", "mean queue, packets"),
        ("utilization", "utilization"),
        ("rated_utilization", "rated utilization"),
    ] {
        assert_eq!(spoken(column), words);
    }
}

#[test]
fn a_line_is_drawn_as_far_as_it_is_on_the_scale() {
    let scale = (0.0, 40.0);
    assert_eq!(
        on_scale(&[(0.0, 20.0), (1.0, 60.0), (2.0, 80.0), (3.0, 0.0)], scale),
        [vec![(0.0, 20.0), (0.5, 40.0)], vec![(2.5, 40.0), (3.0, 0.0)]]
    );
    assert_eq!(
        on_scale(&[(0.0, 0.0), (1.0, 40.0), (2.0, 40.0)], scale),
        [vec![(0.0, 0.0), (1.0, 40.0), (2.0, 40.0)]]
    );
    assert_eq!(
        on_scale(&[(0.0, -40.0), (1.0, 80.0)], scale),
        [vec![(1.0 / 3.0, 0.0), (2.0 / 3.0, 40.0)]],
        "from below to above"
    );
    assert!(on_scale(&[(0.0, 50.0), (1.0, 60.0)], scale).is_empty());
}

#[test]
fn a_legend_has_room_for_its_longest_name() {
    let legend = |names: &[&str]| {
        names
            .iter()
            .map(|name| (Sign::Area, (*name).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(legend_columns(&legend(&["measured", "published"])), 4);
    assert_eq!(
        legend_columns(&legend(&["equation 3.2, our 215.5 bytes a slot", "published"])),
        2
    );
    assert_eq!(legend_columns(&legend(&["x".repeat(500).as_str()])), 1);
}

#[test]
fn a_band_of_one_value_can_be_seen() {
    let plot = format!("{{run: a, draw: {QUEUE}}}");
    let fact = format!("run: a, measure: {QUEUE}, stat: mean");
    let mut entry = entry(&plot, &fact);
    let borders = |entry: &Entry| {
        let points = spread(&[vec![(1.0, 5.0), (5.0, 100.0)]]);
        let name = "ours".to_owned();
        let svg = draw(entry, entry.plot.as_ref().unwrap(), &[Line { name, points }], 1.0).unwrap();
        svg.matches("opacity=\"0.25\" fill=\"none\"").count()
    };
    let wide = borders(&entry);
    assert!(wide > 0);
    entry.facts[0].band = [75.0, 75.0];
    assert_eq!(borders(&entry), wide);
    entry.facts.clear();
    assert_eq!(borders(&entry), 0);
}

#[test]
fn room_is_left_for_the_longest_number_of_the_scale() {
    let plot = format!("{{run: a, draw: {QUEUE}, top: 400000}}");
    let entry = entry(&plot, &format!("run: b, measure: {QUEUE}, stat: mean"));
    let points = spread(&[vec![(1.0, 5.0), (5.0, 100_000.0)]]);
    let line = Line {
        name: "ours".to_owned(),
        points,
    };
    let svg = draw(&entry, entry.plot.as_ref().unwrap(), &[line], 1.0).unwrap();
    let texts: Vec<(f64, &str, &str)> = svg
        .split("<text ")
        .skip(1)
        .map(|text| {
            let attribute = |name: &str| {
                text.split_once(&format!("{name}=\""))
                    .unwrap()
                    .1
                    .split('"')
                    .next()
                    .unwrap()
            };
            (
                attribute("x").parse().unwrap(),
                attribute("text-anchor"),
                text.split('>').nth(1).unwrap().trim(),
            )
        })
        .collect();
    let label = texts
        .iter()
        .find(|(_, _, text)| text.starts_with("sent, bytes, ours"))
        .unwrap();
    let number = texts.iter().find(|(_, _, text)| text.starts_with("400000")).unwrap();
    assert_eq!(number.1, "end");
    let left_end = number.0 - f64::from(DIGIT_WIDTH) * "400000".len() as f64;
    assert!(left_end > label.0 + 4.0, "{label:?} {number:?}");
}

#[test]
fn scales_of_logarithms_are_marked_at_round_numbers_and_reach_down_to_the_smallest() {
    let marks = |numbers: Range<f64>| -> Vec<String> {
        let marks = MarkedAxis::new(numbers, true).key_points(10);
        marks.iter().map(|mark| number(libm::exp10(*mark))).collect()
    };
    assert_eq!(
        marks(-4.0..0.5),
        ["0.0001", "0.001", "0.01", "0.1", "1"],
        "decades only"
    );
    assert_eq!(marks(0.0..1.5), ["1", "2", "5", "10", "20"]);
    let line = |lows: &[f64]| Line {
        name: String::new(),
        points: lows
            .iter()
            .map(|&low| Point {
                x: 1.0,
                y: 1.0,
                low,
                high: 1.0,
            })
            .collect(),
    };
    assert_eq!(
        least_positive(&[line(&[0.0, 2e-6]), line(&[1.0])], |point| point.low),
        2e-6
    );
    assert_eq!(least_positive(&[line(&[0.0])], |point| point.low), NO_LEAST);
}

/// What people with each colour vision see of linear light (Machado, Oliveira and Fernandes 2009, full severity).
const VISIONS: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(weight, part)| weight * part).sum())
}

/// CIE L*a*b* (D65) of a colour.
fn seen(RGBColor(red, green, blue): RGBColor, vision: &[[f64; 3]; 3]) -> [f64; 3] {
    let linear = [red, green, blue].map(|part| match f64::from(part) / 255.0 {
        part if part <= 0.04045 => part / 12.92,
        part => libm::pow((part + 0.055) / 1.055, 2.4),
    });
    let to_xyz = [
        [0.4124, 0.3576, 0.1805],
        [0.2126, 0.7152, 0.0722],
        [0.0193, 0.1192, 0.9505],
    ];
    let [x, y, z] = times(&to_xyz, times(vision, linear));
    let [x, y, z] = [x / 0.9505, y, z / 1.089].map(|part| match part.max(0.0) {
        part if part > 0.008856 => libm::cbrt(part),
        part => 7.787 * part + 16.0 / 116.0,
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn lines_are_told_apart_by_any_colour_vision() {
    for vision in &VISIONS {
        for (k, one) in COLOURS.iter().enumerate() {
            for other in &COLOURS[..k] {
                let pairs = seen(*one, vision).into_iter().zip(seen(*other, vision));
                let distance = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                assert!(distance > 12.0, "{one:?} {other:?}: {distance}");
            }
        }
    }
}
