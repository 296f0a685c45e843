// Program chartcheck checks a Helm chart and Kubernetes objects without a cluster: Helm's own linter and renderer, the
// schemas of Kubernetes, and the schemas of custom resources.
//
//	chartcheck lint CHART [VALUES...]
//	chartcheck render [-release NAME] [-namespace NAME] CHART [VALUES...]
//	chartcheck validate [-kubernetes VERSION] [-crds FOLDER] FILE...
//	chartcheck pull REFERENCE FILE
//
// It is a Go module of its own, because Helm and Kubernetes need a hundred modules.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run runs a command. Its error is what is wrong with what was given, a line for each mistake.
func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("name a command: lint, render, validate or pull")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var r rendering
	flags.StringVar(&r.release, "release", "release", "name of the release")
	flags.StringVar(&r.namespace, "namespace", "default", "namespace of the release")
	kubernetes := flags.String("kubernetes", defaultKubernetes, "version of Kubernetes' schemas")
	crds := flags.String("crds", "", "folder whose folders have CustomResourceDefinitions")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	rest := flags.Args()
	switch {
	case args[0] == "lint" && len(rest) > 0:
		return lintChart(rest[0], rest[1:])
	case args[0] == "render" && len(rest) > 0:
		r.chart, r.values = rest[0], rest[1:]
		return r.run(out)
	case args[0] == "validate" && len(rest) > 0:
		return validateFiles(out, *kubernetes, *crds, rest)
	case args[0] == "pull" && len(rest) == 2:
		return pullChart(rest[0], rest[1])
	}
	return fmt.Errorf("%s is no command, or lacks its arguments", args[0])
}
