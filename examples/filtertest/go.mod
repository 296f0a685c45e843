module github.com/harmonyedge/harmonyedge/examples/filtertest

go 1.26.0

require (
	github.com/harmonyedge/harmonyedge v0.0.0
	github.com/proxy-wasm/proxy-wasm-go-sdk v0.0.0-20260105142703-44c7d5847745
)

require (
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/harmonyedge/harmonyedge => ../..
