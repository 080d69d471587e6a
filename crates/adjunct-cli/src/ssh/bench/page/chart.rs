//! Charts as SVG: for every row a bar of each side, with its spread, one below the other, so that names have room on a phone.
//!
//! The colours written here are those of the light page; the page's style sheet names each of them again to change it where
//! it is dark.

use super::super::report::{Column, Figure, Measure, Row, Stat, number};
use crate::Failure;
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
/// What shows the spread.
pub const WHISKER: RGBColor = RGBColor(0x2b, 0x30, 0x36);

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

/// Where the names stand, and how wide all is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// For phones: names above their bars.
    Narrow,
    /// Names to the left of their bars.
    Wide,
}

/// Lengths in pixels of a chart, all but the widths the same for both layouts.
struct Shape {
    width: i32,
    /// Room for the names to the left.
    left: i32,
    /// Room for a name above its bars.
    above: i32,
}

const BAR: i32 = 15;
const GAP: i32 = 13;
const AXIS: i32 = 26;
const MARGIN: i32 = 6;
/// Room for a value to the right of its bar.
const VALUE: i32 = 62;

impl Layout {
    fn shape(self) -> Shape {
        match self {
            Layout::Narrow => Shape { width: 328, left: 0, above: 19 },
            Layout::Wide => Shape { width: 880, left: 292, above: 0 },
        }
    }

    /// Its class in the page.
    pub fn class(self) -> &'static str {
        match self {
            Layout::Narrow => "narrow",
            Layout::Wide => "wide",
        }
    }
}

/// The rows of a chart that have this measure.
pub fn rows<'a>(rows: &'a [Row], measure: &Measure) -> Vec<(&'a str, &'a Figure)> {
    rows.iter().filter_map(|row| Some((row.name.as_str(), row.figures.get(&measure.id)?))).collect()
}

/// The chart of one measure of these rows, an `svg` element with `title` as its name for screen readers.
///
/// # Errors
/// [`Failure`] where the library cannot draw it.
pub fn svg(rows: &[(&str, &Figure)], measure: &Measure, title: &str, layout: Layout) -> Result<String, Failure> {
    let shape = layout.shape();
    let each = shape.above + 3 * BAR + GAP;
    let plot = each * rows.len() as i32;
    let size = (shape.width as u32, (plot + AXIS + 2 * MARGIN) as u32);
    let mut text = String::new();
    draw(&mut text, size, rows, measure, &shape)
        .map_err(|e| Failure::new(format!("the chart of {}: {e}", measure.title)))?;
    // The library's own opening tag fixes the size and has no name.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let (width, height, class) = (size.0, size.1, layout.class());
    Ok(format!(
        "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{0}\">\
         <title>{0}</title>{body}",
        super::escaped(title)
    ))
}

type Error<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw<'b>(
    text: &'b mut String,
    size: (u32, u32),
    rows: &[(&str, &Figure)],
    measure: &Measure,
    shape: &Shape,
) -> Result<(), Error<'b>> {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    let plot = f64::from(size.1 as i32 - AXIS - 2 * MARGIN);
    let width = f64::from(shape.width - shape.left - 2 * MARGIN);
    let most = rows.iter().flat_map(|(_, figure)| Column::ALL.map(|c| figure.side(c))).flatten();
    let most = most.map(|s| s.high.max(s.median)).fold(0.0, f64::max).clamp(1e-6, 1e15);
    let end = most / (1.0 - f64::from(VALUE) / width);
    let mut chart = ChartBuilder::on(&root)
        .margin(MARGIN)
        .x_label_area_size(AXIS)
        .y_label_area_size(shape.left)
        .build_cartesian_2d(0.0..end, 0.0..plot)?;
    let digits = usize::from(most < 10.0) + usize::from(most < 1.0) + usize::from(most < 0.1);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .x_labels(if shape.left == 0 { 5 } else { 9 })
        .x_label_formatter(&|x| number(*x, digits))
        .label_style(style(12.0, MUTED, HPos::Center, VPos::Top))
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let each = plot / rows.len().max(1) as f64;
    for (index, (name, figure)) in rows.iter().enumerate() {
        // The library counts from below.
        let top = plot - index as f64 * each;
        label(&root, name, plot - top, shape)?;
        bars(&mut chart, figure, measure, top - f64::from(shape.above) - f64::from(GAP) / 2.0)?;
    }
    root.present()
}

/// A row's name, `down` pixels below the top of the plot.
fn label<'b>(
    root: &DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
    name: &str,
    down: f64,
    shape: &Shape,
) -> Result<(), Error<'b>> {
    let down = down as i32 + MARGIN + GAP / 2;
    if shape.left == 0 {
        return root.draw_text(name, &style(13.0, INK, HPos::Left, VPos::Top), (MARGIN, down + 2));
    }
    let middle = down + 3 * BAR / 2;
    root.draw_text(name, &style(13.0, INK, HPos::Right, VPos::Center), (shape.left - 8, middle))
}

fn bars<'b>(chart: &mut Chart<'_, 'b>, figure: &Figure, measure: &Measure, top: f64) -> Result<(), Error<'b>> {
    for (place, column) in Column::ALL.into_iter().enumerate() {
        let Some(Stat { median, low, high, .. }) = figure.side(column) else { continue };
        let (median, low, high) = (median.clamp(0.0, 1e15), low.clamp(0.0, 1e15), high.clamp(0.0, 1e15));
        let top = top - place as f64 * f64::from(BAR);
        let (middle, bottom) = (top - f64::from(BAR) / 2.0, top - f64::from(BAR) + 2.0);
        let bar = Rectangle::new([(0.0, top), (median, bottom)], colour(column).filled());
        let line = |from, to| PathElement::new(vec![from, to], WHISKER);
        let (centre, end) = (middle + 1.0, f64::from(BAR) / 4.0);
        let cap = |at| line((at, centre - end), (at, centre + end));
        let value = number(median, measure.decimals);
        let ink = if column == Column::Adjunct { INK } else { MUTED };
        let text = EmptyElement::at((high.max(median), middle + 1.0))
            + Text::new(value, (6, 0), style(12.0, ink, HPos::Left, VPos::Center));
        chart.draw_series([bar])?;
        if high > low {
            chart.draw_series([line((low, centre), (high, centre)), cap(low), cap(high)])?;
        }
        chart.draw_series([text])?;
    }
    Ok(())
}

/// Text of `size` pixels. The library writes sizes divided by 1.24.
fn style(size: f64, colour: RGBColor, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    let font = ("sans-serif", size * 1.24).into_font();
    TextStyle { font, color: colour.to_backend_color(), pos: Pos::new(horizontal, vertical) }
}
