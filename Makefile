# Each target fetches and starts what it needs, and stops it again. See CONTRIBUTING.md.

.PHONY: build demo test crash clients clouds lint fuzz bench

build: ; CGO_ENABLED=0 go build -trimpath -tags disable_grpc_modules -o dogear ./cmd/dogear
demo:  ; @scripts/demo.sh
test:  ; @scripts/test.sh
crash: ; DOGEAR_KILLS=200 go test -count=1 -v -run 'TestCrash$$|TestWorkersKilled' -timeout 40m ./internal/e2e
clients: ; @scripts/clients.sh && go test -count=1 -timeout 30m ./internal/clients -update
clouds: ; @scripts/clouds.sh
lint:  ; @scripts/lint.sh
fuzz:  ; @scripts/fuzz.sh
bench: ; @scripts/bench.sh
