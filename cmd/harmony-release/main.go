// Command harmony-release makes a release, checks it and pushes its images: make release runs it.
//
// It knows flags and folders. It does not know what a release consists of; cmd/harmony-release/release does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony-release/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// defaultFolder is where make release writes.
const defaultFolder = "dist/release"

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "harmony-release", Short: "Make a release of Harmony Edge, check it, push its images",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.AddCommand(commitCommand(), makeCommand(), verifyCommand(), pushCommand())
	return root
}

func logTo(w io.Writer) release.Log {
	return func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
}

const makeLong = `Makes a release of the commit that is checked out, from a clone of its own: two runs give the same bytes.
Run it from the root of the clone, by make release, which installs the tools that it needs.`

func makeCommand() *cobra.Command {
	var out, platforms string
	c := &cobra.Command{
		Use: "make", Short: "Make a release of the commit that is checked out", Long: makeLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return makeRelease(cmd, out, platforms) },
	}
	c.Flags().StringVar(&platforms, "platforms", "", "`LIST` of the programs' platforms, such as linux/amd64 (default: all)")
	c.Flags().StringVar(&out, "out", defaultFolder, "`FOLDER` to write; an earlier release in it is replaced")
	return c
}

func makeRelease(cmd *cobra.Command, out, platforms string) error {
	chosen, err := release.ParsePlatforms(platforms)
	if err != nil {
		return fmt.Errorf("--platforms: %w", err)
	}
	if err := checkOut(out); err != nil {
		return err
	}
	b, err := newBuilder(cmd)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.Work)
	b.Platforms = chosen
	parts, err := b.Build(cmd.Context())
	if err != nil {
		return err
	}
	written := filepath.Clean(out) + ".new" // beside it, so that it can be renamed
	defer os.RemoveAll(written)
	if err := os.MkdirAll(filepath.Dir(written), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(written); err != nil {
		return err
	}
	if err := release.Write(parts, written, b.Log); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Rename(written, out); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), out)
	return nil
}

// checkOut returns an error for a folder with something else than a release in it, which would be removed.
func checkOut(out string) error {
	entries, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, release.SumsFile)); err != nil {
		return fmt.Errorf("--out %s has something else than a release in it, which would be removed; name an empty folder", out)
	}
	return nil
}

// newBuilder returns a builder for the clone in the working folder. Its caller removes the folder Work.
func newBuilder(cmd *cobra.Command) (*release.Builder, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll("build", 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(filepath.Join(root, "build"), "release.*")
	if err != nil {
		return nil, err
	}
	return &release.Builder{Root: root, Work: work, Output: cmd.ErrOrStderr(), Log: logTo(cmd.ErrOrStderr())}, nil
}

const commitLong = `Makes the commit of a release: the one that is checked out, with the packed filter in it, under the tag of the
version in internal/version/VERSION. Branches stay as they are. Then check the tag out and run make release.`

func commitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "commit", Short: "Make a release's commit, with the filter in it, and its tag", Long: commitLong,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newBuilder(cmd)
			if err != nil {
				return err
			}
			defer os.RemoveAll(b.Work)
			tag, err := b.Commit(cmd.Context())
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), tag)
			}
			return err
		},
	}
}

func verifyCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use: "verify", Short: "Compare a release's files with its checksums", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := release.Verify(from)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%d files are as %s/SHA256SUMS says\n", n, from)
			}
			return err
		},
	}
	c.Flags().StringVar(&from, "from", defaultFolder, "`FOLDER` of the release")
	return c
}

const pushLong = `Pushes the filter, the images of program and control plane, and the Helm chart to a registry, under the
release's version:

  harmony-release push ghcr.io/example    # ghcr.io/example/filter, …/harmony, …/controlplane, …/charts/harmony-edge

Credentials are those of docker login (~/.docker/config.json, or DOCKER_CONFIG). It prints each image with its digest.`

func pushCommand() *cobra.Command {
	var from string
	var plain bool
	c := &cobra.Command{
		Use: "push REGISTRY", Short: "Push the release's images to a registry", Long: pushLong, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := release.Push{Registry: args[0], PlainHTTP: plain, Log: logTo(cmd.ErrOrStderr())}
			pushed, err := p.Run(cmd.Context(), from)
			for _, ref := range pushed {
				fmt.Fprintln(cmd.OutOrStdout(), ref)
			}
			return err
		},
	}
	c.Flags().StringVar(&from, "from", defaultFolder, "`FOLDER` of the release")
	c.Flags().BoolVar(&plain, "plain-http", false, "allow HTTP in clear text to the registry, credentials included; on loopback it is always allowed")
	return c
}
