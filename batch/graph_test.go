package batch

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func header(fields ...string) http.Header {
	h := http.Header{}
	for n := 0; n < len(fields); n += 2 {
		h.Add(fields[n], fields[n+1])
	}
	return h
}

// Shapes of Microsoft's pages on batching and on throttling, with names of ours.
func TestDecodeGraph(t *testing.T) {
	const body = "\ufeff" + ` {
	  "@odata.context": "https://graph.example/$metadata", "took": [1, {"ms": 20}],
	  "responses": [
	    {"id": "4", "status": 429,
	     "headers": {"Retry-After": "10", "Cache-Control": "no-store", "Content-Type": "application/json"},
	     "body": {"error": {"code": "TooManyRequests", "innerError": {"status": "429", "date": "2026-11-29T20:02:00"}}}},
	    {"id": "1", "status": 200,
	     "headers": {"Content-Type": "application/json;odata.metadata=minimal;charset=utf-8", "x-ms-resource-unit": 1},
	     "body": { "@odata.context": "c",  "value": [ {"id":"a", "size": 1.50} ] }},
	    {"id": "2", "status": "302", "headers": {"Location": "https://files.example/signed?x=1"}},
	    {"id": "3", "status": 200, "headers": {"Content-Type": "image/jpeg"}, "body": "/9j/4AA="},
	    {"status": 304, "atomicityGroup": "g", "body": null, "headers": null, "id": "6"},
	    {"id": "5", "status": 424, "body": {"error": {"code": "FailedDependency"}}},
	    {"id": "1", "status": 503}
	  ], "@odata.nextLink": null} ` + "\n"
	got, err := Decode("graph", "text/plain", []byte(body)) // the envelope's type does not matter
	want := []Answer{
		{"4", 429, header("Retry-After", "10", "Cache-Control", "no-store", "Content-Type", "application/json"),
			[]byte(`{"error": {"code": "TooManyRequests", "innerError": {"status": "429", "date": "2026-11-29T20:02:00"}}}`)},
		{"1", 200, header("Content-Type", "application/json;odata.metadata=minimal;charset=utf-8", "X-Ms-Resource-Unit", "1"),
			[]byte(`{ "@odata.context": "c",  "value": [ {"id":"a", "size": 1.50} ] }`)},
		{"2", 302, header("Location", "https://files.example/signed?x=1"), nil},
		{"3", 200, header("Content-Type", "image/jpeg"), []byte{0xff, 0xd8, 0xff, 0xe0, 0x00}},
		{"6", 304, header(), nil},
		{"5", 424, header(), []byte(`{"error": {"code": "FailedDependency"}}`)},
		{"1", 503, header(), nil},
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err := Decode("graph", "", []byte(`{"responses":[]}`)); err != nil || len(got) != 0 {
		t.Errorf("no answers at all: %v, %v", got, err)
	}
}

func TestDecodeGraphBody(t *testing.T) {
	for name, tt := range map[string]struct{ kind, body, want string }{
		"an object":                      {"application/json", `{"a" : [1, "\u00e9/\/"]}`, `{"a" : [1, "\u00e9/\/"]}`},
		"an object, of another type":     {"text/html", `{"a":1}`, `{"a":1}`},
		"a list":                         {"application/json", "[\n1 ]", "[\n1 ]"},
		"a number":                       {"application/json", `1.50`, `1.50`},
		"a truth value":                  {"application/json", `false`, `false`},
		"null":                           {"application/json", `null`, ``},
		"an empty string":                {"application/octet-stream", `""`, ``},
		"text":                           {"text/plain; charset=utf-8", `"Ende \u00fcber\n"`, "Ende über\n"},
		"text in capitals":               {"Text/CSV", `"a;b"`, "a;b"},
		"text that would be base64":      {"text/plain", `"Q2hlZXNl"`, "Q2hlZXNl"},
		"base64":                         {"application/octet-stream", `"AP+/wA=="`, "\x00\xff\xbf\xc0"},
		"base64, the slash escaped":      {"image/jpeg", `"\/9j\/4AA="`, "\xff\xd8\xff\xe0\x00"},
		"URL-safe base64, as OData says": {"application/pdf", `"AP-_wA=="`, "\x00\xff\xbf\xc0"},
		"URL-safe base64 without an end": {"application/pdf", `"AP-_wA"`, "\x00\xff\xbf\xc0"},
		"plain base64 without an end":    {"application/pdf", `"AP+/wA"`, "\x00\xff\xbf\xc0"},
		"base64 without a type":          {"", `"Q2hlZXNl"`, "Cheese"},
		"no base64: a message":           {"application/octet-stream", `"Service Unavailable"`, "Service Unavailable"},
		"no base64: both alphabets":      {"application/pdf", `"AP+_"`, "AP+_"},
		"no base64: a line break":        {"application/pdf", `"Q2hl\nZXNl"`, "Q2hl\nZXNl"},
		"no base64: bits left over":      {"application/pdf", `"AP+/wB=="`, "AP+/wB=="},
		"no base64: an end too many":     {"application/pdf", `"AP+/="`, "AP+/="},
		"no base64: three ends":          {"application/pdf", `"AAAAA==="`, "AAAAA==="},
		"JSON in base64, as Graph sends": {"application/json", `"eyJpZCI6IjEifQ=="`, `{"id":"1"}`},
		"JSON in base64, a suffix":       {"application/problem+json; x=y", `"WzFd"`, `[1]`},
		"lines of JSON in base64":        {"application/json", `"e30Ke30K"`, "{}\n{}\n"},
		"a JSON string in base64":        {"application/json", `"Q2hlZXNl"`, "Cheese"},
		"JSON that is a message":         {"application/json;charset=utf-8", `"try \u006cater"`, `"try \u006cater"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("graph", "application/json",
				[]byte(`{"responses":[{"id":"1","status":200,"headers":{"content-type":"`+tt.kind+`"},"body":`+tt.body+`}]}`))
			if err != nil || len(got) != 1 || string(got[0].Body) != tt.want {
				t.Errorf("%s as %s: %+v, %v, want %q", tt.body, tt.kind, got, err, tt.want)
			}
		})
	}
}

func TestDecodeGraphHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		headers string
		want    http.Header
	}{
		"a string":                    {`{"Retry-After":" 5 "}`, header("Retry-After", "5")},
		"a number":                    {`{"Retry-After":120}`, header("Retry-After", "120")},
		"a fraction as it is written": {`{"retry-after":0.1240}`, header("Retry-After", "0.1240")},
		"a list":                      {`{"Retry-After":[5,"60",true,null,{},[7]]}`, header("Retry-After", "5", "Retry-After", "60", "Retry-After", "true")},
		"there twice, none lost":      {`{"Retry-After":"60","retry-after":5,"Retry-After":"7"}`, header("Retry-After", "60", "Retry-After", "5", "Retry-After", "7")},
		"JSON within":                 {`{"x-ms-ags-diagnostic":"{\"ServerInfo\":{}}"}`, header("X-Ms-Ags-Diagnostic", `{"ServerInfo":{}}`)},
		"other letters":               {`{"X":"Größe"}`, header("X", "Größe")},
		"none":                        {`{}`, header()},
		"null":                        {`null`, header()},
		"absurd ones are left out": {`{"":"a","a b":"a","x:":"a","é":"a","A":null,"B":{"c":"d"},"C":"1\r\nD: 2","E":"\u0000","F":"\u007f","G":"1"}`,
			header("G", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("graph", "", []byte(`{"responses":[{"id":"1","status":429,"headers":`+tt.headers+`}]}`))
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %v, %v", tt.headers, got, err)
			}
			if d := cmp.Diff(tt.want, got[0].Header); d != "" {
				t.Errorf("%s: %s", tt.headers, d)
			}
		})
	}
}

// A broken form gives no answers, and an error that says how it is broken.
func TestDecodeGraphBroken(t *testing.T) {
	const one = `{"id":"1","status":200}`
	for name, tt := range map[string]struct{ body, says string }{
		"nothing":             {"", "is empty"},
		"no JSON":             {"<html>CANARY</html>", "breaks at byte 1 of 19"},
		"cut":                 {`{"responses":[` + one + `,{"id":"2","st`, "breaks at byte 51 of 51"},
		"cut after an answer": {`{"responses":[` + one, "breaks at byte 37 of 37"},
		"more behind":         {`{"responses":[` + one + `]} CANARY`, "breaks at byte 41"},
		"two":                 {`{"responses":[]}{"responses":[]}`, "not JSON"},
		"a list":              {`[` + one + `]`, "no object"},
		"a string":            {`"CANARY"`, "no object"},
		"null":                {`null`, "no object"},
		"an error instead":    {`{"error":{"code":"BadRequest","message":"CANARY"}}`, `no "responses"`},
		"in other letters":    {`{"Responses":[]}`, `no "responses"`},
		"responses null":      {`{"responses":null}`, "no list"},
		"responses an object": {`{"responses":{"1":` + one + `}}`, "no list"},
		"responses a string":  {`{"responses":"CANARY"}`, "no list"},
		"responses twice":     {`{"responses":[` + one + `],"responses":[]}`, "twice"},
		"too deep":            {`{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"responses":[]}`, "not JSON"},
		"too many":            {`{"responses":[` + strings.Repeat(one+",", 10_000) + one + `]}`, "more than 10000"},
		"too many of nothing": {`{"responses":[` + strings.Repeat("0,", 10_000) + `0]}`, "more than 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("graph", "application/json", []byte(tt.body))
			if err == nil || got != nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%.60q: %v, %v, want no answers and an error that says %q", tt.body, got, err, tt.says)
			}
		})
	}
	if got, err := Decode("graph", "", []byte(`{"responses":[`+strings.Repeat(one+",", 9_999)+one+`]}`)); err != nil || len(got) != 10_000 {
		t.Errorf("10,000 answers: %d, %v", len(got), err)
	}
}

// R3: a broken answer does not take the others with it.
func TestDecodeGraphSparesTheOthers(t *testing.T) {
	for name, tt := range map[string]struct{ answer, says string }{
		"no object":             {`"CANARY"`, "answer 2 of the batch: it is no object"},
		"null":                  {`null`, "it is no object"},
		"no id":                 {`{"status":200,"body":"CANARY"}`, "answer 2 of the batch: it has no id"},
		"an empty id":           {`{"id":"","status":200}`, "it has no id"},
		"an id of null":         {`{"id":null,"status":200}`, "it has no id"},
		"an id that is a list":  {`{"id":["2"],"status":200}`, "its id is no string"},
		"an id too long":        {`{"id":"` + strings.Repeat("7", 257) + `","status":200}`, `"7777777777777777777777777777777777777777"...: its id has 257 bytes`},
		"an id not to print":    {`{"id":"a\u001b[2J","status":200}`, `"a\x1b[2J": its id cannot be printed`},
		"no status":             {`{"id":"2","headers":{}}`, `answer 2 of the batch, "2": it has no status`},
		"a status of null":      {`{"id":"2","status":null}`, "it has no status"},
		"a status of words":     {`{"id":"2","status":"CANARY"}`, "its status is no number"},
		"a status with a space": {`{"id":"2","status":"200 OK"}`, "its status is no number"},
		"a status in halves":    {`{"id":"2","status":200.5}`, "its status is no number"},
		"a status below zero":   {`{"id":"2","status":-200}`, "its status is no number"},
		"a status too large":    {`{"id":"2","status":18446744073709551816}`, "its status is no number"},
		"a status of zero":      {`{"id":"2","status":0}`, "0 is no status"},
		"a status on the way":   {`{"id":"2","status":100}`, "100 is no status"},
		"a status beyond":       {`{"id":"2","status":600}`, "600 is no status"},
		"a status in an object": {`{"id":"2","status":{"code":200}}`, "it has no status"},
		"headers in a list":     {`{"id":"2","status":200,"headers":["CANARY"]}`, "its headers are no object"},
		"headers in a string":   {`{"id":"2","status":200,"headers":"CANARY"}`, "its headers are no object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("graph", "", []byte(`{"responses":[{"id":"1","status":200},`+tt.answer+`,{"id":3,"status":"204"}]}`))
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%s: %v, want an error that says %q", tt.answer, err, tt.says)
			}
			if d := cmp.Diff([]Answer{{"1", 200, header(), nil}, {"3", 204, header(), nil}}, got); d != "" {
				t.Errorf("%s: %s", tt.answer, d)
			}
		})
	}
	_, err := Decode("graph", "", []byte(`{"responses":[`+strings.Repeat("0,", 9_999)+`0]}`))
	if err == nil || !strings.Contains(err.Error(), "9995 more answers") || len(err.Error()) > 500 {
		t.Errorf("many broken answers: %.600v", err)
	}
}
