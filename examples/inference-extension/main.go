// Command epp is the Inference Extension's endpoint picker with one more scorer: it goes by the blocks of prompts that
// Harmony Edge has hashed.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/gateway-api-inference-extension/cmd/epp/runner"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/plugin"

	"github.com/harmonyedge/harmonyedge/examples/inference-extension/blocks"
)

func main() {
	plugin.Register(blocks.Type, blocks.Factory)
	if err := runner.NewRunner().Run(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
