package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedianAndQuantile(t *testing.T) {
	for _, tt := range []struct {
		figures         []float64
		median, p90, p1 float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{4, 1}, 2.5, 4, 1},
		{[]float64{5, 1, 3}, 3, 5, 1},
		{[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 9, 1},
	} {
		if m, p90, p1 := Median(tt.figures), Quantile(tt.figures, 0.9), Quantile(tt.figures, 0.01); m != tt.median ||
			p90 != tt.p90 || p1 != tt.p1 {
			t.Errorf("%v: %v %v %v, want %v %v %v", tt.figures, m, p90, p1, tt.median, tt.p90, tt.p1)
		}
	}
	if e := Of(nil); !math.IsNaN(e.Median) || !math.IsNaN(Median(nil)) || !math.IsNaN(Quantile(nil, 0.5)) {
		t.Errorf("of nothing: %v", e)
	}
}

// TestIntervalCovers draws figures whose median is known. The interval must contain it about nine times in ten.
func TestIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const trials, truth = 400, 1.8
	covered := 0
	for range trials {
		figures := make([]float64, 15)
		for i := range figures {
			figures[i] = truth * math.Exp(random.NormFloat64()/10)
		}
		if e := Of(figures); e.Low <= truth && truth <= e.High {
			covered++
		}
	}
	if covered < trials*84/100 || covered > trials*97/100 {
		t.Errorf("%d of %d intervals contain the median, want about 90 %%", covered, trials)
	}
}

// TestIntervalNarrows checks that more figures give a narrower interval, and that the same ones give the same.
func TestIntervalNarrows(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	figures := make([]float64, 41)
	for i := range figures {
		figures[i] = 1 + random.Float64()
	}
	few, many := Of(figures[:5]), Of(figures)
	if many.High-many.Low >= few.High-few.Low {
		t.Errorf("5 figures: %v, 41 figures: %v", few, many)
	}
	if again := Of(figures); again != many {
		t.Errorf("%v, then %v", many, again)
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		e     Estimate
		limit float64
		want  Verdict
	}{
		{Estimate{1.2, 1.1, 1.25, 5}, 1.25, Met},
		{Estimate{1.2, 1.1, 1.26, 5}, 1.25, Open},
		{Estimate{1.3, 1.25, 1.4, 5}, 1.25, Open},
		{Estimate{1.3, 1.26, 1.4, 5}, 1.25, NotMet},
		{Estimate{1.1, 1.1, 1.1, 4}, 1.25, Open},
		{Of(nil), 1.25, Open},
	} {
		if got := tt.e.Judge(tt.limit); got != tt.want {
			t.Errorf("%v against %v: %s, want %s", tt.e, tt.limit, got, tt.want)
		}
	}
}
