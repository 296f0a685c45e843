package fleet

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// addressValue is the address of a program's page and status, as host:port. The URLs that harmony ps prints are taken
// too: a page's, and that of a gateway which runs here.
type addressValue string

const addressUsage = "`ADDRESS` of the control plane, its --status; or of the page of harmony up, its --admin"

// addAddress adds the flag --address to a command, and completes it with the pages of this machine.
func (a *addressValue) addAddress(c *cobra.Command, usage string) {
	*a = defaultStatus
	c.Flags().Var(a, "address", usage)
	cli.CompleteBy(c, "address", cli.RunningPages)
}

// Set implements pflag.Value.
func (a *addressValue) Set(text string) error {
	address := text
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return err
		case u.Scheme != "http":
			return fmt.Errorf("%s is not served; the page and the status are plain HTTP", u.Scheme)
		}
		address = u.Host
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return errors.New("it is not host:port")
	}
	for _, r := range cli.Runs() {
		if r.Gateway == "http://"+address {
			address = r.Page
		}
	}
	*a = addressValue(address)
	return nil
}

// String implements pflag.Value.
func (a *addressValue) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *addressValue) Type() string { return "address" }

// addressArgs accepts one argument, which is the --address.
func addressArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return cli.Usage(fmt.Errorf("%q is not expected here; see %s --help", args[1], c.CommandPath()))
	case c.Flags().Changed("address"):
		return cli.Usage(fmt.Errorf("%q is a second address beside --address; write one of them", args[0]))
	}
	if err := c.Flags().Set("address", args[0]); err != nil {
		return cli.Usage(fmt.Errorf("%q is not expected here; an address is, such as %s, or the URL of a page: see %s --help",
			args[0], defaultStatus, c.CommandPath()))
	}
	return nil
}
