//! Pictures as PNG, with a font of our own so that a machine without fonts draws the same letters.
//!
//! The font is DejaVu Sans (Bitstream Vera licence, changes in the public domain), from the crate `dejavu`.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Width of every PNG, pixels.
const WIDTH: f64 = 1680.0;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    fonts.load_font_data(dejavu::sans_condensed::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// The bytes of a PNG of an SVG document, [`WIDTH`] pixels wide.
///
/// # Errors
/// What the parser or the encoder says, in words.
pub(crate) fn render(svg: &str) -> Result<Vec<u8>, String> {
    let options = Options { fontdb: FONTS.clone(), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size();
    let scale = WIDTH as f32 / size.width();
    let (width, height) = ((size.width() * scale).round() as u32, (size.height() * scale).round() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| format!("{width} by {height} pixels are no picture"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| error.to_string())
}
