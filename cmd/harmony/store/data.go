package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// storeOf returns the options of the store of a configuration's responses service.
func storeOf(file string) (store.Options, error) {
	c, err := loadService(file)
	if err != nil {
		return store.Options{}, err
	}
	keys, err := storeKeys()
	return store.Options{URL: c.ResponsesService.Store, Keys: keys, Reserve: true}, err
}

// storeKeys returns the keys of the store.
func storeKeys() (*seal.Keys, error) {
	keys, err := keysOf(store.KeysVariable)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return keys, nil
}

func migrateCommand(file *string) *cobra.Command {
	var to int64
	c := &cobra.Command{
		Use:   "migrate --config FILE --to VERSION",
		Short: "Take the store's tables to a version, such as one that an older program knows",
		Long: `Takes the store's tables to a version. The service takes them to its newest version by itself when it starts;
this is for the way back, before an older program runs again. Stop every replica first. 0 removes everything.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to < 0 {
				return cli.Usage(errors.New("no version is given; write --to VERSION"))
			}
			o, err := storeOf(*file)
			if err != nil {
				return err
			}
			from, err := store.Migrate(cmd.Context(), o, to)
			if err != nil {
				return AsUsage(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the store had version %d and has version %d\n", from, to)
			return nil
		},
	}
	c.Flags().Int64Var(&to, "to", -1, "`VERSION` of the tables")
	return c
}

// dataFlags name a tenant and a store. A tenant is a client by key, a value of the tenant's header, or both. A tenant
// without a name stands for requests without the header. Without a store it is the configuration's.
type dataFlags struct {
	name, client string
	none         bool
	store        string
}

func (f *dataFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "tenant", "", "`VALUE` of the tenant's header (seal.tenant_header)")
	c.Flags().StringVar(&f.client, "client", "", "`NAME` of a client with a key (clients); with --tenant: what that client "+
		"stored with that value of the header")
	c.Flags().BoolVar(&f.none, "no-tenant", false, "requests without that header")
	c.Flags().StringVar(&f.store, "store", "", "`FILE` of the store, or postgres://HOST/DATABASE, in place of --config")
}

func (f *dataFlags) tenant() (store.Tenant, error) {
	switch {
	case f.name != "" && f.none, f.name == "" && !f.none && f.client == "":
		return store.Tenant{}, cli.Usage(errors.New("write --client NAME for a client with a key, --tenant VALUE, or " +
			"--no-tenant for requests without the header"))
	}
	return store.TenantOf(contract.Tenant(f.client, f.name)), nil
}

// errNothing is the error if the store has nothing of the tenant. Wrong names look like that.
func (f *dataFlags) errNothing() error {
	switch {
	case f.client == "" && f.name == "":
		return errors.New("nothing is stored of requests without the header; clients with keys need --client NAME")
	case f.client == "":
		return fmt.Errorf("nothing is stored of the tenant %q; clients with keys need --client NAME", f.name)
	case f.name == "":
		return fmt.Errorf("nothing is stored of the client %q; its name is the one in the keys file, and what it stored with "+
			"the header of seal.tenant_header needs --tenant VALUE too", f.client)
	}
	return fmt.Errorf("nothing is stored of the client %q with the tenant %q", f.client, f.name)
}

// open opens the store, which is the configuration's unless a flag names it. It returns the
// tenant too.
func (f *dataFlags) open(ctx context.Context, file string) (*store.Store, store.Tenant, error) {
	t, err := f.tenant()
	if err != nil {
		return nil, t, err
	}
	if f.store != "" && file != "" {
		return nil, t, cli.Usage(errors.New("--store and --config exclude each other; leave one out"))
	}
	o, err := f.options(file)
	if err != nil {
		return nil, t, err
	}
	s, err := store.Open(ctx, o)
	return s, t, AsUsage(err)
}

func (f *dataFlags) options(file string) (o store.Options, err error) {
	if f.store == "" {
		return storeOf(file)
	}
	if !strings.Contains(f.store, "://") { // a new store would be made where there is none
		if _, err := os.Stat(f.store); err != nil {
			return o, cli.Usage(fmt.Errorf("--store: %w", err))
		}
	}
	o.URL, o.Reserve = f.store, true
	o.Keys, err = storeKeys()
	return o, err
}

func exportCommand(file *string) *cobra.Command {
	var data dataFlags
	c := &cobra.Command{
		Use:   "export --config FILE --tenant VALUE",
		Short: "Print everything that a tenant has stored, as JSON lines",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, t, err := data.open(cmd.Context(), *file)
			if err != nil {
				return err
			}
			defer s.Close()
			lines, n := json.NewEncoder(cmd.OutOrStdout()), 0
			lines.SetEscapeHTML(false)
			write := func(line any) error {
				n++
				return lines.Encode(line)
			}
			err = s.Export(cmd.Context(), t,
				func(turn *store.Turn) error { return write(turnLine(turn)) },
				func(c *store.Conversation, items []store.Item) error {
					return write(map[string]any{"conversation": map[string]any{"id": c.ID,
						"created_at": c.CreatedAt.Unix(), "metadata": json.RawMessage(c.Metadata)}, "items": bodies(items)})
				})
			if err == nil && n == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: %v\n", data.errNothing())
			}
			return err
		},
	}
	data.add(c)
	return c
}

// turnLine is a response as a line of JSON.
func turnLine(turn *store.Turn) map[string]any {
	return map[string]any{"response": json.RawMessage(turn.Object), "input": bodies(turn.Input),
		"output": bodies(turn.Output)}
}

func bodies(items []store.Item) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i := range items {
		list[i] = items[i].Body
	}
	return list
}

func deleteCommand(file *string) *cobra.Command {
	var data dataFlags
	c := &cobra.Command{
		Use:   "delete --config FILE --tenant VALUE",
		Short: "Remove everything that a tenant has stored",
		Long: `Removes everything that a tenant has stored, and prints how much. The exit status is 1 if the store had nothing of the
tenant: the name may be wrong.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, t, err := data.open(cmd.Context(), *file)
			if err != nil {
				return err
			}
			defer s.Close()
			n, err := s.DeleteTenant(cmd.Context(), t)
			if err != nil {
				return err
			}
			if n == (store.Counts{}) {
				return data.errNothing()
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed %s, %s and %s\n", cli.Plural(int(n.Responses), "response"),
				cli.Plural(int(n.Conversations), "conversation"), cli.Plural(int(n.Items), "item"))
			return nil
		},
	}
	data.add(c)
	return c
}
