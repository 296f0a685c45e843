package version

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoClone is the error of [Clone] for a folder that is not the root of a git clone, such as a source archive's.
var ErrNoClone = errors.New("not the root of a git clone")

// Clone returns what the clone in a folder has checked out, and when that was committed.
func Clone(ctx context.Context, folder string) (Build, time.Time, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
		}
		return strings.TrimSpace(string(out)), err
	}
	// An archive may have been unpacked inside of another clone.
	if prefix, err := git("rev-parse", "--show-prefix"); err != nil || prefix != "" {
		return Build{}, time.Time{}, ErrNoClone
	}
	next, err := os.ReadFile(filepath.Join(folder, "internal", "version", "VERSION"))
	if err != nil {
		return Build{}, time.Time{}, err
	}
	head, err := git("log", "-1", "--format=%H %ct")
	if err != nil {
		return Build{}, time.Time{}, err
	}
	tags, err := git("tag", "--points-at", "HEAD")
	if err != nil {
		return Build{}, time.Time{}, err
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return Build{}, time.Time{}, err
	}
	commit, text, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Build{}, time.Time{}, fmt.Errorf("git log: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	tagged := slices.Contains(strings.Fields(tags), "v"+strings.TrimSpace(string(next)))
	return of(string(next), commit, at, tagged, changes != ""), at, nil
}
