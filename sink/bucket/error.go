package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"regexp"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"
)

// An Error says what could not be done with an object of a bucket, and why. It matches
// [fs.ErrExist], [fs.ErrNotExist] and the errors of contexts. What the services' libraries say
// holds addresses with signatures and whole answers, so nothing of that is repeated.
type Error struct {
	Do  string // what was to be done, to what
	Why string
	is  error
}

func (e *Error) Error() string { return e.Do + ": " + e.Why }
func (e *Error) Unwrap() error { return e.is }

// An OtherJobError says that a prefix holds the results of another job. Owner is the text that
// names it, empty for a list of results that nobody's mark goes with.
type OtherJobError struct {
	Where string
	Owner string
}

func (e *OtherJobError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s holds a %s that this job did not write: move it away, or choose another prefix", e.Where, listName)
	}
	return fmt.Sprintf("%s holds the results of %s: go on with it there, choose another prefix, or delete %s in it if that job is no more", e.Where, e.Owner, markName)
}

// errStalled ends an upload that the bucket takes nothing of any more.
var errStalled = errors.New("the bucket takes no data")

// fail makes an error of what a library says about an object.
func (a Address) fail(ctx context.Context, do, name string, err error) error {
	e := &Error{Do: do + " " + a.at(name), Why: reason(err)}
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		e.Why = errStalled.Error() + ": look at the bucket and the network"
	case ctx.Err() != nil:
		e.Why, e.is = "it was not done in time", ctx.Err()
	case gcerrors.Code(err) == gcerrors.NotFound:
		e.is = fs.ErrNotExist
	}
	return e
}

// code is what a service calls an error; anything longer may be something else.
var code = regexp.MustCompile(`^[A-Za-z0-9_.]{1,60}$`)

// reason is what can be told of an error, and what to do next.
func reason(err error) string {
	if err == nil {
		return "no reason was given"
	}
	if differs, ok := errors.AsType[*differsError](err); ok {
		return differs.Error()
	}
	said, status := answered(err)
	next := ""
	switch code := gcerrors.Code(err); {
	case code == gcerrors.NotFound:
		next = "it is not there, or its name may not be known here: look at the name of the bucket, its region and what these credentials may do"
	case code == gcerrors.PermissionDenied, status == http.StatusUnauthorized, status == http.StatusForbidden:
		next = "look at what these credentials may do in the bucket"
	}
	switch {
	case said != "" && next != "":
		return said + "; " + next
	case said != "":
		return said
	case next != "":
		return next
	case errors.Is(err, errNoCredentials):
		return errNoCredentials.Error() + ": " + findsThem
	case errors.Is(err, errBadKey):
		return errBadKey.Error()
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "its host cannot be found: " + dns.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return "it cannot be reached: " + op.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it cannot be reached: the connection was cut"
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "it does not answer"
	}
	return "there was no usable answer: look at its credentials, region and endpoint"
}

// answered is the status and the code of a service's refusal.
func answered(err error) (text string, status int) {
	name := ""
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = e.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		name = api.ErrorCode()
	}
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		status, name = e.StatusCode, e.ErrorCode
	}
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		status = e.Code
	}
	if !code.MatchString(name) {
		name = ""
	}
	switch {
	case status != 0 && name != "":
		return fmt.Sprintf("the service answered %d %s", status, name), status
	case status != 0:
		return fmt.Sprintf("the service answered %d", status), status
	case name != "":
		return "the service answered " + name, 0
	}
	return "", 0
}
