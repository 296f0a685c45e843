package fleet

import "github.com/spf13/cobra"

// Commands returns the commands for a fleet.
func Commands() []*cobra.Command {
	return []*cobra.Command{analyzeCommand(), bugReportCommand(), controlplaneCommand(), drainCommand(), keysCommand(),
		limitsCommand(), pickerCommand(), probeCommand(), psCommand(), rolloutCommand(), statusCommand()}
}
