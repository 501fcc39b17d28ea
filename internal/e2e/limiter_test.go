package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogear/dogear/drill/standin"
)

// require finds a program from a Debian package. Where it is missing the test is skipped,
// unless DOGEAR_REQUIRE names it.
func require(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && slices.Contains(strings.Split(os.Getenv("DOGEAR_REQUIRE"), ","), program) {
		t.Fatalf("DOGEAR_REQUIRE names %s: %v", program, err)
	}
	if err != nil {
		t.Skipf("%s is not installed (apt-get install %s): %v", program, program, err)
	}
	return path
}

// freeAddress is an address of the loopback interface that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// daemon runs a server in the foreground until it is stopped, which it is at the latest at
// the end of the test. What it writes goes to a file.
func daemon(t *testing.T, address, output string, command ...string) (stop func()) {
	t.Helper()
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		out.Close()
	}
	t.Cleanup(stop)
	until(t, command[0]+" listens", func() bool {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(output)
			ended <- err
			t.Fatalf("%s ended: %v\n%s", command[0], err, said)
		default:
		}
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
	return stop
}

// A real limiter is read through: everything comes, whole and once, and the ledger has as
// many requests as the limiter's own log.
func readThrough(t *testing.T, address, log string, docs int, stop func()) {
	t.Helper()
	u := newUser(t)
	var list []string
	for i := 1; i <= docs; i++ {
		list = append(list, fmt.Sprintf("http://%s/doc/%d", address, i))
	}
	u.write("l.txt", list...)
	u.must(0, "read", "l.txt", "--scope", "host", "-o", "out", "--rate", "60/s", "--burst", "10")
	u.must(0, "verify", "l", "--deep")
	results := u.results("l")
	if len(results) != docs {
		t.Errorf("%d results, want %d", len(results), docs)
	}
	for _, d := range results {
		var n int
		if _, err := fmt.Sscanf(d.ID, "http://"+address+"/doc/%d", &n); err != nil {
			t.Fatal(err)
		}
		u.checkFile("out", d, standin.Body(n))
	}
	st := u.status("l")
	stop()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	byStatus, logged := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, "e2e "); ok {
			status, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			byStatus[status]++
			logged++
		}
	}
	if byStatus["429"] == 0 {
		t.Error("the limiter refused nothing: the test proves nothing")
	}
	if st.Requests.Sent != logged || st.Requests.ByStatus["200"] != byStatus["200"] || st.Requests.ByStatus["429"] != byStatus["429"] || byStatus["200"] != docs {
		t.Errorf("the limiter logged %d requests %v, the ledger %d %v", logged, byStatus, st.Requests.Sent, st.Requests.ByStatus)
	}
	t.Logf("%d documents, %d requests, %d refused", docs, logged, byStatus["429"])
}

func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := require(t, "nginx")
	for name, refusal := range map[string]string{
		"hint": "error_page 429 @wait; location @wait { add_header Retry-After 1 always; return 429; }",
		"none": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const docs = 120
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "root", "doc"), 0o700); err != nil {
				t.Fatal(err)
			}
			for i := 1; i <= docs; i++ {
				if err := os.WriteFile(filepath.Join(dir, "root", "doc", fmt.Sprint(i)), standin.Body(i), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			user := ""
			if os.Getuid() == 0 {
				user = "user root;" // the folder is ours alone
			}
			address := freeAddress(t)
			conf := fmt.Sprintf(`daemon off; %s worker_processes 1; pid %[2]s/pid; error_log %[2]s/error.log;
events { worker_connections 256; }
http {
  log_format e2e 'e2e $status $request_uri';
  access_log %[2]s/access.log e2e;
  client_body_temp_path %[2]s/t1; proxy_temp_path %[2]s/t2; fastcgi_temp_path %[2]s/t3; uwsgi_temp_path %[2]s/t4; scgi_temp_path %[2]s/t5;
  limit_req_zone $server_name zone=z:1m rate=40r/s;
  limit_req_status 429;
  server {
    listen %[3]s;
    server_name e2e;
    root %[2]s/root;
    location / { limit_req zone=z burst=5 nodelay; }
    %[4]s
  }
}
`, user, dir, address, refusal)
			if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
				t.Fatal(err)
			}
			stop := daemon(t, address, filepath.Join(dir, "output"), nginx, "-c", filepath.Join(dir, "nginx.conf"))
			readThrough(t, address, filepath.Join(dir, "access.log"), docs, stop)
		})
	}
}

func TestHAProxy(t *testing.T) {
	t.Parallel()
	haproxy := require(t, "haproxy")
	for name, hdr := range map[string]string{"hint": "hdr Retry-After 2", "none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const docs = 150
			s := serve(t, standin.Config{})
			dir, address := t.TempDir(), freeAddress(t)
			conf := fmt.Sprintf(`global
  log stdout format raw local0
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend f
  bind %s
  log global
  log-format "e2e %%ST %%HU"
  option dontlognull
  stick-table type integer size 1k expire 60s store http_req_rate(2s)
  http-request track-sc0 int(1)
  http-request return status 429 content-type text/plain string "slow down" %s if { sc_http_req_rate(0) gt 60 }
  default_backend b
backend b
  server s %s
`, address, hdr, s.Addr())
			if err := os.WriteFile(filepath.Join(dir, "haproxy.cfg"), []byte(conf), 0o600); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(dir, "output")
			stop := daemon(t, address, log, haproxy, "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
			readThrough(t, address, log, docs, stop)
			if n := s.Journal.Len(); n != docs {
				t.Errorf("%d requests came through, want %d", n, docs)
			}
		})
	}
}
