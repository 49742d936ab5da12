//! What the engine uses of `datafusion-macros`: functions say that they have no documentation.

use proc_macro::{TokenStream, TokenTree};

/// Gives the annotated struct the method that its other code calls.
///
/// # Panics
///
/// Where something else than a struct is annotated.
#[proc_macro_attribute]
pub fn user_doc(_documentation: TokenStream, item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "struct"));
    let name = tokens.next().expect("a struct has a name").to_string();
    let method = format!("impl {name} {{ fn doc(&self) -> Option<&datafusion_doc::Documentation> {{ None }} }}");
    item.into_iter().chain(method.parse::<TokenStream>().expect("the method is Rust")).collect()
}
