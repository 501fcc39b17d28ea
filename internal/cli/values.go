package cli

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// rate is a number of requests a second. Zero is not given.
type rate float64

// size is a number of bytes. Zero is not given.
type size int64

// deadline is when a run ends. The zero value is not given.
type deadline struct {
	at    time.Time // zero: none, if given
	given bool
}

var (
	rateType     = reflect.TypeFor[rate]()
	sizeType     = reflect.TypeFor[size]()
	deadlineType = reflect.TypeFor[deadline]()
)

func decode[T any](ctx *kong.DecodeContext, target reflect.Value, parse func(string) (T, error)) error {
	var s string
	if err := ctx.Scan.PopValueInto("value", &s); err != nil {
		return err
	}
	v, err := parse(s)
	if err != nil {
		return err
	}
	target.Set(reflect.ValueOf(v))
	return nil
}

func decodeRate(ctx *kong.DecodeContext, target reflect.Value) error {
	return decode(ctx, target, parseRate)
}
func decodeSize(ctx *kong.DecodeContext, target reflect.Value) error {
	return decode(ctx, target, parseSize)
}
func decodeDeadline(ctx *kong.DecodeContext, target reflect.Value) error {
	return decode(ctx, target, func(s string) (deadline, error) { return parseDeadline(s, time.Now()) })
}

// parseRate reads "10/s", "600/m" or "5000/h".
func parseRate(s string) (rate, error) {
	n, unit, ok := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(n, 64)
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !ok || err != nil || per == 0 || !(v > 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no rate: give a number and a unit, such as 10/s, 600/m or 5000/h", s)
	}
	return rate(v / per), nil
}

var units = map[string]float64{"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

// parseSize reads "4GiB", "500MB" or a number of bytes.
func parseSize(s string) (size, error) {
	i := strings.LastIndexAny(s, "0123456789.") + 1
	v, err := strconv.ParseFloat(s[:i], 64)
	unit, ok := units[strings.ToLower(strings.TrimSpace(s[i:]))]
	if err != nil || !ok || !(v > 0) || v*unit > math.MaxInt64/2 || v*unit < 1 {
		return 0, fmt.Errorf("%q is no size: give a number and a unit, such as 4GiB or 500MB", s)
	}
	return size(v * unit), nil
}

// parseDeadline reads a duration from now, an RFC 3339 time, or "none".
func parseDeadline(s string, now time.Time) (deadline, error) {
	if s == "none" {
		return deadline{given: true}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d <= 0 {
			return deadline{}, errors.New("a deadline lies in the future")
		}
		return deadline{at: now.Add(d).Round(0), given: true}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil:
		return deadline{}, fmt.Errorf("%q is no deadline: give a duration such as 90m, a time such as 2026-12-01T06:00:00Z, or none", s)
	case !t.After(now):
		return deadline{}, fmt.Errorf("the deadline %s has passed", s)
	}
	return deadline{at: t, given: true}, nil
}

// stamp is a moment as scripts read it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// bytesText is a size for people.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), -1
	for v >= 1000 && unit < 4 {
		v /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTP"[unit])
}
