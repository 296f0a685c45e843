//go:build e2e

package responses

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// chainCost is what the database does for a turn that continues a chain.
type chainCost struct {
	// disk is by how much the tables grow, and bytes is the size of the items that are read.
	disk, bytes float64
	// statements and rows are counted by PostgreSQL. SQLite gets the same statements.
	statements, rows float64
}

// check fails the test if a turn after a long chain needs more statements than one after the first, a chain reads more
// rows than it has, or history is stored again.
func (c *chainCost) check(t *testing.T, first *chainCost, length int) {
	t.Helper()
	if c.statements != first.statements {
		t.Errorf("a turn after %d turns takes %.1f statements, and %.1f after one", length, c.statements, first.statements)
	}
	// A turn of the chain is one response with three items.
	if limit := first.rows + float64(5*length); c.rows > limit {
		t.Errorf("a turn after %d turns reads %.0f rows, and should read %.0f at most", length, c.rows, limit)
	}
	if c.disk > 3*first.disk+8192 {
		t.Errorf("a turn after %d turns takes %.0f bytes on disk, and %.0f after one", length, c.disk, first.disk)
	}
}

// chainBytes returns the size of the items of a chain.
func (s *station) chainBytes(id string) (bytes float64) {
	s.T.Helper()
	s.query(&bytes, "SELECT chain_bytes FROM responses WHERE id = '"+id+"'")
	return bytes
}

// countedTurns is how many turns are counted.
const countedTurns = 10

// count counts the statements and the rows of a turn. The service's connections are new, and end before their rows are
// counted: that is when PostgreSQL adds them up.
func (s *station) count(c *chainCost, body string) {
	s.T.Helper()
	s.execute("ANALYZE")
	s.execute("ALTER DATABASE bench SET log_statement = 'all'")
	s.execute("ALTER DATABASE bench SET enable_seqscan = off") // a table that is small is else read whole
	s.replicas[0].interrupt()
	s.alone()
	before, logged := s.rowsRead(), len(s.postgres.Stderr.String())
	s.replicas[0].launch()
	s.measure(1, countedTurns, body)
	s.replicas[0].interrupt()
	s.alone()
	c.rows = (s.rowsRead() - before) / countedTurns
	for line := range strings.Lines(s.postgres.Stderr.String()[logged:]) {
		if ofTurn(line) {
			c.statements++
		}
	}
	c.statements /= countedTurns
	s.execute("ALTER DATABASE bench RESET ALL")
	s.replicas[0].launch()
}

// ofTurn reports whether a line of PostgreSQL's log is a statement of a turn. Those by which the service looks for
// expired responses, and for ones in the background, are not, nor the ones of its start.
func ofTurn(line string) bool {
	_, statement, found := strings.Cut(line, "LOG:  execute ")
	if !found {
		return false
	}
	for _, other := range []string{"UPDATE responses SET owner", "SUM(CASE", "expires_at <=", "DELETE FROM events", "seal_keys", "goose_",
		"pg_"} {
		if strings.Contains(statement, other) {
			return false
		}
	}
	return true
}

func (s *station) execute(statement string) {
	s.T.Helper()
	if _, err := s.db.ExecContext(s.T.Context(), statement); err != nil {
		s.T.Fatal(err)
	}
}

// query reads the only value of a query's only row.
func (s *station) query(into any, text string) {
	s.T.Helper()
	if err := s.db.QueryRowContext(s.T.Context(), text).Scan(into); err != nil {
		s.T.Fatal(err)
	}
}

// alone waits until the service has no connection to the database.
func (s *station) alone() {
	s.T.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(10 * time.Millisecond) {
		n := 0
		s.query(&n, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			s.T.Fatalf("%d connections are left", n)
		}
	}
}

// rowsRead returns how many rows of responses and items PostgreSQL has read.
func (s *station) rowsRead() (rows float64) {
	s.T.Helper()
	s.query(&rows, "SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_user_tables "+
		"WHERE relname IN ('responses', 'items')")
	return rows
}
