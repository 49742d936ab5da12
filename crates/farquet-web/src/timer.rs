//! Time by `performance`, waiting by `setTimeout`.

use std::time::Duration;

use farquet_core::timer::{Monotonic, Timer};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use wasm_bindgen::prelude::{Closure, JsCast, JsValue, wasm_bindgen};

use crate::bridge::Bridge;

#[wasm_bindgen]
extern "C" {
    // Globals of windows, workers and Node alike.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &js_sys::Function, milliseconds: f64) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// Milliseconds since an instant of the page's own.
pub(crate) fn milliseconds() -> f64 {
    performance_now()
}

/// [`Timer`] of the global scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrowserTimer;

impl Timer for BrowserTimer {
    fn now(&self) -> Monotonic {
        Monotonic(Duration::try_from_secs_f64(milliseconds() / 1e3).unwrap_or_default())
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Bridge::new(async move {
            let (done, over) = oneshot::channel();
            let ring = Closure::once(move || {
                let _ = done.send(());
            });
            // Delays of more than 2^31 ms would ring at once.
            let delay = (wait.as_secs_f64() * 1e3).min(f64::from(i32::MAX));
            let _alarm = Alarm { id: set_timeout(ring.as_ref().unchecked_ref(), delay), _ring: ring };
            let _ = over.await;
        })
        .boxed()
    }
}

/// Ends the wait when it is dropped.
struct Alarm {
    id: JsValue,
    _ring: Closure<dyn FnMut()>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}
