package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver of SQLite

	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// DefaultMaxConnections is how many connections a replica has to its database at most.
const DefaultMaxConnections = 16

// Options are what a [Store] needs.
type Options struct {
	// URL is the database: a file's path for SQLite, or postgres://USER:PASSWORD@HOST/DATABASE.
	URL string
	// Keys encrypt what is stored. Nil: it is stored in clear.
	Keys *seal.Keys
	// MaxConnections is how many connections there may be. 0 is [DefaultMaxConnections].
	MaxConnections int
	// Reserve reports whether SQLite's file has a reserve beside it, with which removing works on a full disk. See
	// [Store.KeepReserve].
	Reserve bool
	// Now is the clock. Nil is [time.Now].
	Now func() time.Time
	// Observe is called after each operation of the database. It may be nil.
	Observe Observer
}

// SetupError means that the database cannot be used as it is: trying again does not help.
type SetupError struct{ Err error }

// Error implements error.
func (e *SetupError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SetupError) Unwrap() error { return e.Err }

// dialect holds what differs between the databases.
type dialect struct {
	driver string
	goose  goose.Dialect
	folder string // of migrations
	// numbered reports whether arguments are $1, $2, … in place of ?.
	numbered bool
	// skipLocked is for a query whose rows other replicas may have locked.
	skipLocked string
	// forUpdate locks the rows of a query until the transaction ends.
	forUpdate string
}

var (
	sqlite   = dialect{driver: "sqlite", goose: goose.DialectSQLite3, folder: "sqlite"}
	postgres = dialect{driver: "pgx", goose: goose.DialectPostgres, folder: "postgres", numbered: true,
		skipLocked: " FOR UPDATE SKIP LOCKED", forUpdate: " FOR UPDATE"}
)

//go:embed migrations
var migrations embed.FS

// Open opens the database, makes its tables or brings them up to date, and checks the keys. An error that is a
// [SetupError] stays until the options or the database are changed.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	err = known(s.prepare(ctx))
	if errors.Is(err, ErrFull) && s.reserve.giveUp() {
		err = known(s.prepare(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open returns a store whose tables may not exist.
func open(o Options) (*Store, error) {
	d, dsn, path, err := source(o.URL)
	if err != nil {
		return nil, &SetupError{err}
	}
	db, err := sql.Open(d.driver, dsn)
	if err != nil {
		return nil, &SetupError{fmt.Errorf("the store's URL cannot be read: %w", err)}
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	db.SetMaxOpenConns(o.MaxConnections)
	db.SetMaxIdleConns(o.MaxConnections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{db: db, dialect: d, keys: o.Keys, now: o.Now, observe: o.Observe}
	if d == &sqlite {
		s.line = make(chan struct{}, 1)
		if o.Reserve {
			s.reserve = reserve(path + "-reserve")
		}
	}
	return s, nil
}

// source returns the dialect and the driver's name of a database, and the path of SQLite's file.
func source(address string) (d *dialect, dsn, path string, err error) {
	switch scheme, rest, found := strings.Cut(address, "://"); {
	case address == "":
		return nil, "", "", errors.New("no store is given; write a file's path, or postgres://USER:PASSWORD@HOST/DATABASE")
	case scheme == "postgres" || scheme == "postgresql":
		return &postgres, address, "", nil
	case found && scheme != "sqlite":
		return nil, "", "", fmt.Errorf("the store's scheme %s is not known; write a file's path, or "+
			"postgres://USER:PASSWORD@HOST/DATABASE", scheme)
	case found:
		address = rest
	}
	path, err = filepath.Abs(address)
	if err != nil {
		return nil, "", "", err
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return nil, "", "", fmt.Errorf("the store's folder %s does not exist; make it, or name another file",
			filepath.Dir(path))
	}
	// FULL: what is acknowledged outlives a loss of power, too. immediate: two writers wait for each other at the
	// beginning, where SQLite can wait, and not in the middle, where it cannot.
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"journal_mode(WAL)", "synchronous(FULL)",
		"busy_timeout(10000)"}}
	return &sqlite, "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options.Encode(), path, nil
}

// prepare brings the tables up to date and checks the keys.
func (s *Store) prepare(ctx context.Context) error {
	p, err := s.migrator()
	if err != nil {
		return err
	}
	if err := upgrade(ctx, p); err != nil {
		return err
	}
	return s.checkKeys(ctx)
}

func (s *Store) migrator() (*goose.Provider, error) {
	folder, err := fs.Sub(migrations, "migrations/"+s.dialect.folder)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if s.dialect == &postgres {
		// Replicas that start together wait for each other.
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(s.dialect.goose, s.db, folder, options...)
}

// latest returns the version of the newest migration of this program.
func latest(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

func upgrade(ctx context.Context, p *goose.Provider) error {
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	if newest := latest(p); version > newest {
		return &SetupError{fmt.Errorf("the store has version %d, and this program knows versions up to %d; run a newer "+
			"harmony, or take the store back with the newer one: harmony responses migrate --to %d", version, newest, newest)}
	}
	_, err = p.Up(ctx)
	return err
}

// Migrate takes the tables to a version, older ones too. 0 removes them, and everything in them.
func Migrate(ctx context.Context, o Options, to int64) (from int64, err error) {
	s, err := open(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := s.migrator()
	if err != nil {
		return 0, err
	}
	if from, err = p.GetDBVersion(ctx); err != nil {
		return from, err
	}
	switch newest := latest(p); {
	case to < 0 || to > newest:
		return from, &SetupError{fmt.Errorf("this program has no version %d of the store; its versions are 0 to %d", to, newest)}
	case from > newest:
		return from, &SetupError{fmt.Errorf("the store has version %d, and this program knows versions up to %d; run a "+
			"newer harmony", from, newest)}
	case to < from:
		_, err = p.DownTo(ctx, to)
	default:
		_, err = p.UpTo(ctx, to)
	}
	return from, err
}

// proof is the text that is sealed once with each key, so that a wrong key is known before anything is read with it.
const proof = "harmony responses"

// checkKeys compares the keys with those that the store was written with, and records new ones.
func (s *Store) checkKeys(ctx context.Context) error {
	stored := map[string][]byte{}
	err := s.each(ctx, s.db, "SELECT id, proof FROM seal_keys", nil, func(rows *sql.Rows) error {
		id, sealed := "", []byte(nil)
		err := rows.Scan(&id, &sealed)
		stored[id] = sealed
		return err
	})
	if err != nil {
		return err
	}
	if s.keys == nil {
		for id := range stored {
			return &SetupError{fmt.Errorf("the store is encrypted with the key %s, and there is no key; set %s", id, KeysVariable)}
		}
		return nil
	}
	for _, id := range s.keys.IDs() {
		only := &Store{keys: s.keys.Only(id)}
		if sealed, known := stored[id]; known {
			if text, err := only.open(keyRecord, Tenant{}, id, sealed); err != nil || string(text) != proof {
				return &SetupError{fmt.Errorf("the key %s of %s is not the one that the store was written with; give the key "+
					"of that id, or another id to a new key", id, KeysVariable)}
			}
			delete(stored, id)
			continue
		}
		sealed, err := only.seal(keyRecord, Tenant{}, id, []byte(proof))
		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, s.db, "INSERT INTO seal_keys (id, proof) VALUES (?, ?) ON CONFLICT DO NOTHING",
			id, sealed); err != nil {
			return err
		}
	}
	for id := range stored {
		used, err := s.keyInUse(ctx, id)
		if err != nil {
			return err
		}
		if used {
			return &SetupError{fmt.Errorf("the store has records of the key %s, which is not in %s; add it behind the first "+
				"key", id, KeysVariable)}
		}
		if _, err := s.exec(ctx, s.db, "DELETE FROM seal_keys WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// KeysVariable is the variable of the environment with the keys, in the form of [seal.ParseKeys].
const KeysVariable = "HARMONY_STORE_KEYS"

// keyInUse reports whether any record was sealed with a key. The key's id is at the beginning of each record.
func (s *Store) keyInUse(ctx context.Context, id string) (bool, error) {
	head := append([]byte{2, byte(len(id))}, id...)
	for _, from := range []string{"object FROM responses", "request FROM responses", "body FROM items",
		"metadata FROM conversations", "body FROM events"} {
		column, table, _ := strings.Cut(from, " FROM ")
		n := 0
		err := s.row(ctx, s.db, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s WHERE substr(%s, 1, %d) = ? LIMIT 1) AS t",
			table, column, len(head)), []any{head}, &n)
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}
