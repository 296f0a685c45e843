package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/responses/store"
)

// storeOf returns the options of the store of a configuration's responses service.
func storeOf(file string) (store.Options, error) {
	c, err := loadService(file)
	if err != nil {
		return store.Options{}, err
	}
	keys, err := keysOf(store.KeysVariable)
	if err != nil {
		return store.Options{}, usageError{err}
	}
	return store.Options{URL: c.ResponsesService.Store, Keys: keys}, nil
}

func migrateCommand(file *string) *cobra.Command {
	var to int64
	c := &cobra.Command{
		Use:   "migrate --config FILE --to VERSION",
		Short: "Take the store's tables to a version, such as one that an older program knows",
		Long: `Takes the store's tables to a version. The service takes them to its newest version by itself when it starts;
this is for the way back, before an older program runs again. Stop every replica first. 0 removes everything.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to < 0 {
				return usageError{errors.New("no version is given; write --to VERSION")}
			}
			o, err := storeOf(*file)
			if err != nil {
				return err
			}
			from, err := store.Migrate(cmd.Context(), o, to)
			if err != nil {
				return storeError(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the store had version %d and has version %d\n", from, to)
			return nil
		},
	}
	c.Flags().Int64Var(&to, "to", -1, "`VERSION` of the tables")
	return c
}

// tenantFlags name a tenant. A tenant without a name is that of requests without the tenant's header.
type tenantFlags struct {
	name string
	none bool
}

func (f *tenantFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "tenant", "", "`VALUE` of the tenant's header (seal.tenant_header)")
	c.Flags().BoolVar(&f.none, "no-tenant", false, "requests without that header")
}

func (f *tenantFlags) tenant() (store.Tenant, error) {
	if (f.name == "") != f.none {
		return store.Tenant{}, usageError{errors.New("write --tenant VALUE, or --no-tenant for requests without the header")}
	}
	return store.TenantOf(f.name), nil
}

// open opens the store of a configuration's responses service, and returns it with the tenant.
func (f *tenantFlags) open(ctx context.Context, file string) (*store.Store, store.Tenant, error) {
	t, err := f.tenant()
	if err != nil {
		return nil, t, err
	}
	o, err := storeOf(file)
	if err != nil {
		return nil, t, err
	}
	s, err := store.Open(ctx, o)
	return s, t, storeError(err)
}

func exportCommand(file *string) *cobra.Command {
	var tenant tenantFlags
	c := &cobra.Command{
		Use:   "export --config FILE --tenant VALUE",
		Short: "Print everything that a tenant has stored, as JSON lines",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, t, err := tenant.open(cmd.Context(), *file)
			if err != nil {
				return err
			}
			defer s.Close()
			lines := json.NewEncoder(cmd.OutOrStdout())
			lines.SetEscapeHTML(false)
			return s.Export(cmd.Context(), t,
				func(turn *store.Turn) error { return lines.Encode(turnLine(turn)) },
				func(c *store.Conversation, items []store.Item) error {
					return lines.Encode(map[string]any{"conversation": map[string]any{"id": c.ID,
						"created_at": c.CreatedAt.Unix(), "metadata": json.RawMessage(c.Metadata)}, "items": bodies(items)})
				})
		},
	}
	tenant.add(c)
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
	var tenant tenantFlags
	c := &cobra.Command{
		Use:   "delete --config FILE --tenant VALUE",
		Short: "Remove everything that a tenant has stored",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, t, err := tenant.open(cmd.Context(), *file)
			if err != nil {
				return err
			}
			defer s.Close()
			n, err := s.DeleteTenant(cmd.Context(), t)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed %s, %s and %s\n", plural(int(n.Responses), "response"),
				plural(int(n.Conversations), "conversation"), plural(int(n.Items), "item"))
			return nil
		},
	}
	tenant.add(c)
	return c
}
