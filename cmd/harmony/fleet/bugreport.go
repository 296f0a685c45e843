package fleet

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const bugReportLong = `Puts into one archive what an issue needs: versions, the state and the metrics of the control plane or
the harmony up that runs here, the settings in force, and the ends of log files.

It leaves out secrets and prompts. Of the configuration it has the settings without comments, and of texts that may
be a prompt or a secret only their length. Of logs it has the lines of Harmony Edge and of Envoy from warnings on. The
values of all secrets that the configuration names are replaced wherever they stand. Read the archive before you send
it: it has the names of your machines, models and clients.

  harmony bug-report
  harmony bug-report --log controlplane.log --log envoy.log -o report.tar.gz`

// bugReportFlags are the flags of harmony bug-report.
type bugReportFlags struct {
	address   addressValue
	out, file string
	logs      []string
}

func bugReportCommand() *cobra.Command {
	var f bugReportFlags
	c := &cobra.Command{
		Use:        "bug-report [ADDRESS]",
		Short:      "Put what an issue needs into one archive, without secrets and prompts",
		Long:       bugReportLong,
		SuggestFor: []string{"bugreport", "support", "dump", "report"},
		Args:       addressArgs,
		RunE:       func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.address.addAddress(c, addressUsage)
	c.Flags().StringVar(&f.file, "config", "", "configuration `FILE` (default: the one that the status names)")
	c.Flags().StringArrayVar(&f.logs, "log", nil, "log `FILE` whose end belongs to it (repeatable)")
	c.Flags().StringVarP(&f.out, "output", "o", "", "`FILE` of the archive (default: harmony-bug-report-TIME.tar.gz)")
	return c
}

// part is one file of the archive.
type part struct{ name, text string }

func (f *bugReportFlags) run(cmd *cobra.Command) error {
	now := time.Now()
	parts := []part{{"versions.txt", versionsText(now)}}
	status, s, err := f.state(cmd)
	if err != nil {
		status = "none: " + err.Error() + "\n"
		fmt.Fprintln(cmd.ErrOrStderr(), "note: the archive has no state and no metrics:", err)
	}
	parts = append(parts, part{"status.json", status})
	if s != nil {
		parts = append(parts, part{"metrics.txt", f.metrics(cmd.Context(), s)})
	}
	file := f.file
	if file == "" && s != nil && cli.IsFile(s.Configuration.File) {
		file = s.Configuration.File
	}
	var hidden redactor
	if file != "" {
		parts = append(parts, part{"configuration.txt", settingsText(file, &hidden)})
	}
	hidden.environment()
	for _, log := range f.logs {
		text, err := logEnd(log)
		if err != nil {
			return cli.Usage(fmt.Errorf("--log: %w", err))
		}
		parts = append(parts, part{"logs/" + filepath.Base(log), text})
	}
	for i := range parts {
		parts[i].text = hidden.redact(parts[i].text)
	}
	out := f.out
	if out == "" {
		out = "harmony-bug-report-" + now.UTC().Format("20060102-150405") + ".tar.gz"
	}
	if err := writeArchive(out, parts, now); err != nil {
		return err
	}
	for _, p := range parts {
		fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", p.name)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is written; read it before you send it\n", out)
	return err
}

func versionsText(now time.Time) string {
	b := version.Current()
	text := fmt.Sprintf("harmony %s\ncommit %s\ngo %s %s/%s\ncpus %d\ntime %s\n", b.Version, b.Commit, runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), now.UTC().Format(time.RFC3339))
	if path, err := envoy.Find(""); err == nil {
		text += "envoy " + path + "\n"
	}
	return text
}

// state returns the status as JSON, and its address in f.
func (f *bugReportFlags) state(cmd *cobra.Command) (text string, _ *server.Status, _ error) {
	raw, err := fetchStatus(cmd.Context(), string(f.address))
	if err != nil && !cmd.Flags().Changed("address") {
		if pages := cli.RunningPages(); len(pages) == 1 {
			f.address = addressValue(pages[0])
		}
		raw, err = upStatus(cmd.Context(), err)
	}
	if err != nil {
		return "", nil, err
	}
	s, err := readStatus(raw, string(f.address))
	return string(raw), s, err
}

// maxMetrics is how much of metrics is kept, in bytes.
const maxMetrics = 4 << 20

// metrics returns the metrics of the control plane, or of the gateway of harmony up.
func (f *bugReportFlags) metrics(ctx context.Context, s *server.Status) string {
	path := "/metrics"
	if s.Host != "" {
		path = envoy.StatsPath
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.address.String()+path, nil)
	if err != nil {
		return "none\n"
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "none: no answer\n"
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxMetrics)) // a part is better than nothing
	return string(text)
}

// settingsText returns the settings of a file as they may be shown, and tells hidden its secrets. Of a file that is wrong
// it has only where: errors quote what they have found.
func settingsText(file string, hidden *redactor) string {
	c, err := config.Load(file)
	if err != nil {
		var b strings.Builder
		for _, m := range mistakesOf(err) {
			if strings.Contains(m.Reason, "is not a setting") {
				m.Setting = "an unknown setting" // its name may be a value at the wrong place
			}
			fmt.Fprintf(&b, "wrong at line %d: %s\n", m.Line, m.Setting)
		}
		return b.String()
	}
	for i := range c.Secrets {
		if value, err := c.SecretValue(i); err == nil {
			hidden.hide(value.Token)
			hidden.hide(string(value.Key))
		}
	}
	for i := range c.ResponsesService.Tools.Servers {
		for _, value := range c.ResponsesService.Tools.Servers[i].Environment {
			hidden.hide(value)
		}
	}
	return c.Redacted()
}

// writeArchive writes the parts to a new file that only the user can read. It replaces no file.
func writeArchive(path string, parts []part, now time.Time) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Usage(fmt.Errorf("%s exists; name another file with -o", path))
	}
	if err != nil {
		return cli.Usage(err)
	}
	z := gzip.NewWriter(file)
	t := tar.NewWriter(z)
	for _, p := range parts {
		header := &tar.Header{Name: "harmony-bug-report/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: now}
		if err == nil {
			err = t.WriteHeader(header)
		}
		if err == nil {
			_, err = io.WriteString(t, p.text)
		}
	}
	return errors.Join(err, t.Close(), z.Close(), file.Close())
}
