package release

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

// Commit makes the commit of a release: the one that is checked out, with the packed filter in it, so that go install
// finds the filter where it finds the sources. It gives the commit the tag of the version that internal/version/VERSION
// names, and returns the tag. Branches stay as they are.
func (b *Builder) Commit(ctx context.Context) (tag string, err error) {
	head, at, err := version.Clone(ctx, b.Root)
	if err != nil {
		return "", fmt.Errorf("%s: %w", b.Root, err)
	}
	if head.Dirty() {
		return "", errors.New("there are changes that are not committed; commit them, or put them away with git stash")
	}
	p := &Parts{Source: filepath.Join(b.Work, "src")}
	if err := b.clone(ctx, p, head.Commit); err != nil {
		return "", err
	}
	next, err := p.read("internal/version/VERSION")
	if err != nil {
		return "", err
	}
	tag = "v" + strings.TrimSpace(string(next))
	changes, err := p.read("CHANGELOG.md")
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(changes), "\n## "+tag[1:]+"\n") {
		return "", fmt.Errorf("CHANGELOG.md has no section ## %s; write one, and commit it", tag[1:])
	}
	git := func(args ...string) error {
		_, err := b.run(ctx, p.Source, nil, "git", args...)
		return err
	}
	if git("rev-parse", "--quiet", "--verify", "refs/tags/"+tag) == nil {
		return "", fmt.Errorf("there is a tag %s already; write the next version into internal/version/VERSION", tag)
	}
	// The tag tells the build of the filter that this is the release. It is moved to the new commit below.
	if err := git("tag", tag); err != nil {
		return "", err
	}
	if err := b.filter(ctx, p); err != nil {
		return "", err
	}
	when := at.Format("2006-01-02T15:04:05Z")
	env := append(b.goEnv(), "GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when)
	if err := git("add", "--force", bundled.File); err != nil {
		return "", err
	}
	for _, setting := range []string{"user.name", "user.email"} {
		// A clone does not take over what is set for the repository alone.
		if value, err := b.run(ctx, b.Root, nil, "git", "config", setting); err == nil {
			if err := git("config", setting, strings.TrimSpace(string(value))); err != nil {
				return "", err
			}
		}
	}
	if _, err := b.run(ctx, p.Source, env, "git", "commit", "--quiet", "--message", tag+": the filter inside"); err != nil {
		return "", err
	}
	if err := git("tag", "--force", tag); err != nil {
		return "", err
	}
	_, err = b.run(ctx, b.Root, nil, "git", "fetch", "--quiet", p.Source, "refs/tags/"+tag+":refs/tags/"+tag)
	return tag, err
}
