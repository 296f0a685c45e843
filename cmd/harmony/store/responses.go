package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/responses"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

const responsesLong = `Runs the responses service: it keeps responses and conversations, makes responses in the background,
and asks the models through the gateway. The gateway's configuration says where its database is.

  harmony responses --config config.yaml

  responses_service:
    url: http://10.0.0.9:8090            # where Envoys reach this service
    store: postgres://10.0.0.5/harmony   # or a file's path, for SQLite
    listen: 0.0.0.0:8090
    gateway: http://10.0.0.1:8080        # where it asks the models

Any number of these may share one PostgreSQL. The service trusts the headers that it gets: only Envoys may reach it.

If the gateway checks clients' keys, the service needs one of its own, of a client with deputy: true in the keys file, in
the environment as HARMONY_SERVICE_KEY. It tells for which client it asks.

--status serves /ready (what is stored can be read), /healthz (the program runs) and /metrics, without a password.

Exit status: 0 after an interrupt, 1 when something failed, 2 when the command line, the configuration or the store is
wrong.`

// defaultResponsesStatus is where harmony responses serves its status.
const defaultResponsesStatus = "127.0.0.1:18092"

// Command returns the command harmony responses.
func Command() *cobra.Command {
	var file, status string
	drain := config.Duration(cli.DefaultDrainTime)
	c := &cobra.Command{
		Use:   "responses --config FILE",
		Short: "Keep responses and conversations, for gateways of one configuration",
		Long:  responsesLong,
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadService(file)
			if err != nil {
				return err
			}
			return runResponses(cmd, file, c, status, time.Duration(drain))
		},
	}
	c.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE` (YAML) of the gateway")
	c.Flags().StringVar(&status, "status", defaultResponsesStatus, "`ADDRESS` of /ready, /healthz and /metrics")
	c.Flags().Var(&drain, "drain-time", "how long what runs may take to end after an interrupt")
	c.AddCommand(showCommand(&file), migrateCommand(&file), exportCommand(&file), deleteCommand(&file))
	return c
}

// loadService reads a configuration that has the product's own responses service.
func loadService(file string) (*config.Config, error) {
	if file == "" {
		return nil, cli.Usage(errors.New("no configuration is given; write --config FILE"))
	}
	c, err := config.Load(file)
	if err == nil {
		err = config.Locate(c.Validate(), file)
	}
	if err == nil && c.ResponsesService.Store == "" {
		err = fmt.Errorf("%s has no responses_service.store; write a file's path, or postgres://HOST/DATABASE", file)
	}
	if err != nil {
		return nil, cli.Usage(err)
	}
	return c, nil
}

func runResponses(cmd *cobra.Command, file string, c *config.Config, statusAt string, drain time.Duration) error {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	part := NewPart(PartOptions{Program: "harmony responses", Runs: hasStore, DrainTime: drain, Fatal: true, Log: log})
	if err := part.couldBegin(cmd.Context(), c); err != nil { // what is wrong with the file comes before a port in use
		return cli.Usage(config.Locate(err, file))
	}
	status, err := cli.Listen(statusAt, "--status")
	if err != nil {
		return err
	}
	ctx, second, stop := cli.Interrupts(cmd.Context())
	defer stop()
	defer context.AfterFunc(second, part.Cut)()
	defer cli.ServeStatus(status, statusOf(part), log).Close()
	from := follow.Options{File: file, Needs: follow.Needs{Files: HeadersFiles}, Log: log}
	if !cli.IsFile(file) { // a pipe can be read only once
		from.File, from.Config = "", c
	}
	program := follow.Program{
		Follower: follow.Open(from), Parts: []follow.Part{part}, Log: log,
		Ready: func() {
			fmt.Fprintf(cmd.OutOrStdout(), "serving Envoys on %s\nready: http://%s/ready\nmetrics: http://%[2]s/metrics\n",
				part.Address(), status.Addr())
		},
	}
	return cli.AsUsage(program.Run(ctx))
}

// hasStore reports whether a service of ours is configured, wherever it runs.
func hasStore(s *config.ResponsesService) bool { return s.Store != "" }

// besideRequests is what the program may take beside the requests of the service before the collector runs more
// often, in bytes.
const besideRequests = 192 << 20

// limitHeap keeps garbage from doubling what requests may take, unless GOMEMLIMIT says something else.
func limitHeap(s *responses.Service) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.Settings().Memory + besideRequests)
	}
}

// serviceKeyVariable holds the service's key at the gateway.
const serviceKeyVariable = "HARMONY_SERVICE_KEY"

// AsUsage marks the error of a store that cannot be used as it is.
func AsUsage(err error) error {
	var setup *store.SetupError
	if errors.As(err, &setup) {
		return cli.Usage(err)
	}
	return err
}

// newService returns the responses service of a configuration. gateway is where it asks the models if the configuration
// does not say, and key is its key there.
func newService(c *config.Config, gateway, key string, traces *cli.Traces, accessLog io.Writer, log *slog.Logger,
) (*responses.Service, error) {
	r := &c.ResponsesService
	storeKeys, err := keysOf(store.KeysVariable)
	if err != nil {
		return nil, err
	}
	sealKeys, err := keysOf(contract.SealKeysVariable)
	if err != nil {
		return nil, err
	}
	settings, err := serviceSettings(c, gateway)
	if err != nil {
		return nil, err
	}
	return responses.New(responses.Options{
		Store: store.Options{URL: r.Store, Keys: storeKeys, MaxConnections: r.MaxConnections, Reserve: true},
		Key:   key, SealKeys: sealKeys, Log: log, AccessLog: accessLog, Tracer: traces.Tracer("responses"),
		Settings: settings,
	}), nil
}

// serviceSettings returns what can change of a configuration's responses service while it runs. gateway is the same as
// for [newService]. It reads the files with the headers of tools' servers.
func serviceSettings(c *config.Config, gateway string) (s responses.Settings, err error) {
	r := &c.ResponsesService
	if gateway = cmp.Or(r.Gateway, gateway); gateway == "" {
		if gateway, err = gatewayOf(c); err != nil {
			return s, err
		}
	}
	tools, err := toolOptions(c)
	if err != nil {
		return s, err
	}
	return responses.Settings{
		Gateway: gateway, Models: c.Filter().Models, KeepAlive: keepAlive(c),
		Retention: time.Duration(r.Retention), EventRetention: time.Duration(r.EventRetention),
		Reasoning: responses.Keep(r.Persist.Reasoning), DropCommentary: r.Persist.Commentary == config.PersistDrop,
		TenantHeader: c.Seal.TenantHeader, Clients: c.Clients.On(), ClientHeader: c.Clients.Header,
		SealLifetime: time.Duration(c.Seal.Lifetime), BodyLimit: int64(c.BodyLimit),
		Background: r.Background, InFlight: r.MaxRequests, Memory: int64(r.MemoryLimit),
		WebSocket: r.ServesWebSocket(), Origins: c.CORSOrigins, Tools: tools,
	}, nil
}

// keepAlive returns how long streams of the models may be quiet.
func keepAlive(c *config.Config) map[string]time.Duration {
	quiet := map[string]time.Duration{}
	for i := range c.Models {
		if m := &c.Models[i]; m.KeepAlive > 0 {
			quiet[m.Name] = time.Duration(m.KeepAlive)
		}
	}
	return quiet
}

// keysOf reads the keys of a variable of the environment.
func keysOf(variable string) (*seal.Keys, error) {
	keys, err := seal.ParseKeys(os.Getenv(variable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return keys, nil
}

// gatewayOf returns the URL of the first listener of a configuration.
func gatewayOf(c *config.Config) (string, error) {
	first := c.AllListeners()[0]
	a, err := config.ParseListen(first.Address)
	switch {
	case err != nil:
		return "", err
	case first.TLS != "":
		return "", errors.New("the first listener has TLS; write in responses_service.gateway where the service asks the " +
			"models, such as a listener in clear text on loopback")
	case a.Port() == 0:
		return "", errors.New("the first listener has no fixed port; write responses_service.gateway")
	case a.Addr().IsUnspecified():
		return fmt.Sprintf("http://127.0.0.1:%d", a.Port()), nil
	}
	return "http://" + a.String(), nil
}
