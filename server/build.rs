//! Has the pages embedded anew when they were built, changed or removed. The folder that is watched is always there:
//! cargo takes a missing one for changed with every build.

fn main() {
    println!("cargo::rerun-if-changed=../client-demo/build");
}
