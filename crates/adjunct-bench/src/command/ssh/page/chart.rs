//! Charts as SVG: for every row a bar of each side, with its spread, one below the other, so that names have room on a phone.
//!
//! The colours written here are those of the light page; the page's style sheet names each of them again to change it where
//! it is dark.

use super::super::report::{Column, Figure, Measure, Row, Stat, number};
use crate::harness::page::svg_open;
use adjunct_tool::Failure;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Text.
pub const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// Text that matters less.
pub const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// The colour of the whiskers, which show the spread.
pub const WHISKER: RGBColor = RGBColor(0x2b, 0x30, 0x36);
/// The background of the chart; also drawn around whiskers, so that they are visible on every bar.
pub const CARD: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// A side's colour: three that differ in lightness, too, for those who see no colours.
pub fn colour(column: Column) -> RGBColor {
    match column {
        Column::Software => RGBColor(0xa3, 0xab, 0xb5),
        Column::Stock => RGBColor(0x2f, 0x6f, 0xb7),
        Column::Adjunct => RGBColor(0xe0, 0x7a, 0x10),
    }
}

/// A colour as a style sheet and the SVG write it.
pub fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Place of the names, and the width of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Names above their bars, for phones.
    Narrow,
    /// Names to the left of their bars.
    Wide,
    /// Names above their bars, in a chart as wide: for long names.
    Above,
}

/// Lengths in pixels of a chart, all but the widths the same for both layouts.
struct Shape {
    width: i32,
    /// Room for the names to the left.
    left: i32,
    /// Room for a name above its bars.
    above: i32,
    /// Room for a value to the right of its bar.
    value: i32,
}

const BAR: i32 = 15;
const GAP: i32 = 13;
/// Room for the numbers of the axis and its unit.
const AXIS: i32 = 42;
const MARGIN: i32 = 6;
/// Left and right of the plot: half of an axis's number stands there.
const SIDE: i32 = 16;

impl Layout {
    fn shape(self, lines: &[Line<'_>]) -> Shape {
        let longest = lines.iter().flat_map(|line| &line.bars).map(|bar| bar.text.chars().count()).max().unwrap_or(0);
        let value = 14 + 7 * longest as i32;
        match self {
            Layout::Narrow => Shape { width: 328, left: 0, above: 19, value },
            Layout::Wide => Shape { width: 880, left: 252, above: 0, value },
            Layout::Above => Shape { width: 880, left: 0, above: 19, value },
        }
    }

    /// Class of the layout in the page.
    pub fn class(self) -> &'static str {
        match self {
            Layout::Narrow => "narrow",
            Layout::Wide | Layout::Above => "wide",
        }
    }
}

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar<'a> {
    /// The side that the bar is of.
    pub column: Column,
    /// Length and whiskers.
    pub stat: &'a Stat,
    /// The text to the right of the bar.
    pub text: String,
}

/// Bars below one name.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The name.
    pub name: &'a str,
    /// Bars from top to bottom.
    pub bars: Vec<Bar<'a>>,
}

/// The rows that have this measure, with a bar of each side.
pub fn lines<'a>(rows: &'a [Row], measure: &Measure) -> Vec<Line<'a>> {
    let bars = |figure: &'a Figure| {
        let sides = Column::ALL.into_iter().filter_map(|column| Some((column, figure.side(column)?)));
        sides.map(|(column, stat)| Bar { column, stat, text: number(stat.median, measure.decimals) }).collect()
    };
    rows.iter().filter_map(|row| Some(Line { name: &row.name, bars: bars(row.figures.get(&measure.id)?) })).collect()
}

/// The chart of these lines, an `svg` element with `title` as its name for screen readers; `unit` stands below its axis.
///
/// # Errors
/// [`Failure`] where the library cannot draw it.
pub fn svg(lines: &[Line<'_>], unit: &str, title: &str, layout: Layout) -> Result<String, Failure> {
    let shape = layout.shape(lines);
    let plot: i32 = lines.iter().map(|line| height(line, &shape)).sum();
    let size = (shape.width as u32, (plot + AXIS + 2 * MARGIN) as u32);
    let mut text = String::new();
    draw(&mut text, size, lines, unit, &shape).map_err(|e| Failure::new(format!("the chart of {title}: {e}")))?;
    // The library's own opening tag fixes the size and has no name.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let (width, height, class) = (size.0, size.1, layout.class());
    Ok(svg_open(class, width.into(), height.into(), title) + body)
}

/// The height of a line.
fn height(line: &Line<'_>, shape: &Shape) -> i32 {
    shape.above + line.bars.len() as i32 * BAR + GAP
}

type Error<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw<'b>(
    text: &'b mut String,
    size: (u32, u32),
    lines: &[Line<'_>],
    unit: &str,
    shape: &Shape,
) -> Result<(), Error<'b>> {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    let plot = f64::from(size.1 as i32 - AXIS - 2 * MARGIN);
    let width = f64::from(shape.width - shape.left - 2 * SIDE);
    let most = lines.iter().flat_map(|line| &line.bars).map(|bar| bar.stat.high.max(bar.stat.median));
    let most = most.fold(0.0, f64::max).clamp(1e-6, 1e15);
    let end = most / (1.0 - f64::from(shape.value) / width).max(0.3);
    let mut chart = ChartBuilder::on(&root)
        .margin(MARGIN)
        .margin_left(SIDE)
        .margin_right(SIDE)
        .x_label_area_size(AXIS)
        .y_label_area_size(shape.left)
        .build_cartesian_2d(0.0..end, 0.0..plot)?;
    let digits = usize::from(most < 10.0) + usize::from(most < 1.0) + usize::from(most < 0.1);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .x_labels(if shape.width < 500 { 5 } else { 9 })
        .x_label_formatter(&|x| number(*x, digits))
        .label_style(style(12.0, MUTED, HPos::Center, VPos::Top))
        .x_desc(unit)
        .axis_desc_style(style(12.0, MUTED, HPos::Center, VPos::Bottom))
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;
    // The library counts from below.
    let mut top = plot;
    for line in lines {
        label(&root, line, plot - top, shape)?;
        bars(&mut chart, line, top - f64::from(shape.above) - f64::from(GAP) / 2.0)?;
        top -= f64::from(height(line, shape));
    }
    root.present()
}

/// A line's name, `down` pixels below the top of the plot.
fn label<'b>(
    root: &DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
    line: &Line<'_>,
    down: f64,
    shape: &Shape,
) -> Result<(), Error<'b>> {
    let down = down as i32 + MARGIN + GAP / 2;
    if shape.left == 0 {
        return root.draw_text(line.name, &style(13.0, INK, HPos::Left, VPos::Top), (SIDE, down + 2));
    }
    let middle = down + line.bars.len() as i32 * BAR / 2;
    root.draw_text(line.name, &style(13.0, INK, HPos::Right, VPos::Center), (SIDE + shape.left - 8, middle))
}

fn bars<'b>(chart: &mut Chart<'_, 'b>, line: &Line<'_>, top: f64) -> Result<(), Error<'b>> {
    for (place, Bar { column, stat, text }) in line.bars.iter().enumerate() {
        let [median, low, high] = [stat.median, stat.low, stat.high].map(|value| value.clamp(0.0, 1e15));
        let top = top - place as f64 * f64::from(BAR);
        let (middle, bottom) = (top - f64::from(BAR) / 2.0, top - f64::from(BAR) + 2.0);
        let bar = Rectangle::new([(0.0, top), (median, bottom)], colour(*column).filled());
        let (centre, end) = (middle + 1.0, f64::from(BAR) / 4.0);
        let whisker = |style: ShapeStyle| {
            let stroke = move |from, to| PathElement::new(vec![from, to], style);
            let cap = |at| stroke((at, centre - end), (at, centre + end));
            [stroke((low, centre), (high, centre)), cap(low), cap(high)]
        };
        let ink = if *column == Column::Adjunct { INK } else { MUTED };
        // Right of bar and whisker.
        let told = EmptyElement::at((high.max(median), middle + 1.0))
            + Text::new(text.clone(), (6, 0), style(12.0, ink, HPos::Left, VPos::Center));
        chart.draw_series([bar])?;
        if high > low {
            chart.draw_series(whisker(CARD.stroke_width(3)))?;
            chart.draw_series(whisker(WHISKER.stroke_width(1)))?;
        }
        chart.draw_series([told])?;
    }
    Ok(())
}

/// Text of `size` pixels. The library writes sizes divided by 1.24.
fn style(size: f64, colour: RGBColor, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    let font = ("sans-serif", size * 1.24).into_font();
    TextStyle { font, color: colour.to_backend_color(), pos: Pos::new(horizontal, vertical) }
}
