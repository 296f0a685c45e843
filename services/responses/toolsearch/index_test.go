package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	texts := []Text{
		{"crm list_orders", "Lists the open orders of a customer. status since"},
		{"crm get_customer", "Returns a customer's address."},
		{"time getCurrentTime", "The time of a place. timezone"},
		{"GitHub createIssue", "Opens an issue in a repository of HTTPServer code."},
		{"weather", "天気予報を返します。"},
		{"café", "Où boire un café"},
		{"order_pizza", "Pizza."},
	}
	x, err := New(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, tt := range []struct {
		question string
		most     int
		want     []int
	}{
		{"list the orders", 8, []int{0, 6}},
		{"the", 8, []int{2, 0}},
		{"orders", 1, []int{6}},
		{"list_orders", 8, []int{0, 6}},
		{"ORDERS OR customer", 8, []int{0, 6, 1}},
		{"current time", 8, []int{2}},
		{"getcurrenttime", 8, []int{2}},
		{"github issues", 8, []int{3}},
		{"http", 8, []int{3}},
		{"天気", 8, []int{4}},
		{"cafe", 8, []int{5}},
		{"nothing like it", 8, nil},
		{"", 8, nil},
		{`"') * -{}: ^ NEAR(`, 8, nil},
		{"AND NOT OR", 8, nil},
		{"name : pizza*", 8, []int{6}},
		{"\x00\xff\ufffd pizza\x00", 8, []int{6}},
		{strings.Repeat("x", 1<<20) + " pizza", 8, nil},
		{strings.Repeat("y ", 40) + strings.Repeat("pizza ", 40), 8, []int{6}},
	} {
		got, err := x.Find(t.Context(), tt.question, tt.most)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%.80q: got %v, %v, want %v", tt.question, got, err, tt.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Find(ended, "orders", 8); !errors.Is(err, context.Canceled) {
		t.Errorf("a question that nobody waits for: %v", err)
	}
	if _, err := New(ended, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("an index that nobody waits for: %v", err)
	}
}

// TestManyTexts: as many tools as a request can name are found in.
func TestManyTexts(t *testing.T) {
	texts := make([]Text, 40_000)
	for i := range texts {
		texts[i] = Text{fmt.Sprintf("tool_%d", i), "does it"}
	}
	x, err := New(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range 3 {
		if got, err := x.Find(t.Context(), "the tool 39999 does", 2); err != nil || !slices.Equal(got, []int{39999, 0}) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// FuzzFind: no question is an error.
func FuzzFind(f *testing.F) {
	x, err := New(f.Context(), []Text{{"list_orders", "Lists orders."}, {"\x00", "\xff"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(x.Close)
	for _, seed := range []string{"orders", `"`, "a OR b", "{a b}:c", "ǅ", "à́", "\u0301", "Ⅷ", "१", "ﬀ", "𝒳"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := x.Find(t.Context(), text, 8); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
