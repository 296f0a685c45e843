package cli

import "github.com/spf13/cobra"

// groups are the groups of commands in the program's help, in their order, with the names of their commands.
var groups = []struct {
	title    string
	commands []string
}{
	{"Run a gateway", []string{"up", "controlplane", "responses", "limits", "picker", "record"}},
	{"Operate it", []string{"status", "ps", "analyze", "bug-report", "rollout", "drain", "keys", "mesh"}},
	{"Look inside", []string{"chat", "probe", "inspect"}},
	{"Develop and test", []string{"sim", "filter", "man", "version", "completion", "help"}},
}

// group adds the commands of the program in their groups, each in its order. A command without a group stands below.
func group(root *cobra.Command, commands []*cobra.Command) {
	cobra.EnableCommandSorting = false
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, name := range g.commands {
			for _, c := range commands {
				if c.Name() == name {
					c.GroupID = g.title
					root.AddCommand(c)
				}
			}
		}
	}
	for _, c := range commands {
		if c.GroupID == "" {
			root.AddCommand(c)
		}
	}
	last := groups[len(groups)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
}
