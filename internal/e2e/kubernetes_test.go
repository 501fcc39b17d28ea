package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/dogear/dogear/drill/standin"
	"github.com/dogear/dogear/ledger/postgres/pgtest"
)

// pods are the arguments of the example's containers, by the name of what runs them.
func pods(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../examples/kubernetes/dogear.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type template struct {
		Spec struct{ Containers []struct{ Args []string } }
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template    template
				JobTemplate struct {
					Spec struct{ Template template }
				} `yaml:"jobTemplate"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, item := range list.Items {
		all := append(item.Spec.Template.Spec.Containers, item.Spec.JobTemplate.Spec.Template.Spec.Containers...)
		if len(all) != 1 {
			t.Fatalf("%s has %d containers", item.Metadata.Name, len(all))
		}
		out[item.Metadata.Name] = all[0].Args
	}
	return out
}

// What the example for Kubernetes runs is what dogear understands, with a folder for the bucket.
func TestKubernetesExample(t *testing.T) {
	t.Parallel()
	args := pods(t)
	u := newUser(t).on(pgtest.Start(t).URL("postgres"))
	u.vars = append(u.vars, "TOKEN=canary")
	s := serve(t, standin.Config{Rules: []standin.Rule{standin.Delay(50 * time.Millisecond)}})
	list := u.list("urls.txt", s, 400)
	read := args["dogear-read"]
	for i, a := range read {
		read[i] = strings.Replace(a, "/list/urls.txt", list, 1)
		if strings.HasPrefix(a, "s3://") {
			read[i] = u.path("out")
		}
	}
	lead := u.start(append(read, "--rate", "40/s")...)
	until(t, "the job is running", func() bool { return u.running("policies") })
	worker := u.start(args["dogear-worker"]...)
	until(t, "the worker has joined", func() bool { return strings.Contains(u.must(0, "status", "policies", "--json").stdout, `"pid":`) })
	u.must(75, args["dogear-resume"]...)
	lead.wait(patience).want(t, 0)
	worker.wait(patience).want(t, 0)
	u.must(0, args["dogear-resume"]...)
	if st := u.status("policies"); st.Documents.Done != 400 || st.Requests.Sent != s.Journal.Len() {
		t.Errorf("%+v, %d arrivals", st, s.Journal.Len())
	}
}
