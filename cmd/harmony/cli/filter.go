package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
	"github.com/harmonyedge/harmonyedge/internal/bundled"
)

const filterLong = `Writes out the filter that this program carries, for an Envoy or a mesh of your own:

  harmony filter -o /etc/envoy/harmony-filter.wasm

Neither harmony up nor harmony controlplane needs the file.`

// ToStdout is the value of -o that writes to standard output.
const ToStdout = "-"

func filterCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "filter",
		Short: "Write out the filter that this program carries",
		Long:  filterLong,
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			module, err := bundled.Filter()
			if errors.Is(err, bundled.ErrNone) {
				return fmt.Errorf("%w; %s", err, howToGetFilter)
			}
			if err != nil {
				return err
			}
			if out == ToStdout {
				_, err = cmd.OutOrStdout().Write(module)
				return err
			}
			if err := WriteOutput(out, module); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d bytes, sha256 %s\n", out, len(module), checksum(module))
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", ModuleName, "`FILE` to write; - is standard output")
	return c
}

// WriteOutput writes the file of a flag such as -o. A reader finds the old content or the whole new one. To a device or
// a pipe it writes as it comes.
func WriteOutput(file string, content []byte) error {
	info, err := os.Stat(file)
	if err != nil || info.Mode().IsRegular() {
		return atomicfile.Write(file, content, 0o644)
	}
	if info.IsDir() {
		return Usage(fmt.Errorf("%s is a folder; name a file in it", file))
	}
	device, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = device.Write(content)
	return errors.Join(err, device.Close())
}
