// SPDX-License-Identifier: Apache-2.0
//! The page as it was built of `web/` (scripts/web), in this program.

/// A file of the page.
pub(crate) struct File {
    pub name: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! built {
    ($name:literal, $content_type:literal) => {
        File {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../../../../web/dist/", $name)),
        }
    };
}

/// What a browser loads first.
pub(crate) const INDEX: File = built!("index.html", "text/html; charset=utf-8");

/// What that refers to, below `assets/`.
const ASSETS: [File; 2] = [
    built!("assets/page.js", "text/javascript; charset=utf-8"),
    built!("assets/page.css", "text/css; charset=utf-8"),
];

/// One of `assets/`.
pub(crate) fn asset(name: &str) -> Option<&'static File> {
    ASSETS
        .iter()
        .find(|file| file.name.strip_prefix("assets/") == Some(name))
}
