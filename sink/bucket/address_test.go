package bucket

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		"s3://results":      "s3://results",
		"S3://results/a/b/": "s3://results/a/b",
		"s3://results/a?region=r&endpoint=http://h": "s3://results/a?endpoint=http%3A%2F%2Fh&region=r",
		"gs://results/政策":                           "gs://results/%E6%94%BF%E7%AD%96",
		"azblob://results/a?storage_account=x":      "azblob://results/a?storage_account=x",
	} {
		a, err := Parse(raw)
		if err != nil || a.String() != want {
			t.Errorf("Parse(%q) = %v, %v, want %s", raw, a, err, want)
			continue
		}
		if again, err := Parse(a.String()); err != nil || again.String() != want {
			t.Errorf("Parse(%q) again = %v, %v", want, again, err)
		}
	}
}

// K7: no address with a credential is taken, and no error repeats one.
func TestParseRefuses(t *testing.T) {
	const secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0"
	for _, raw := range []string{
		"s3://key:SECRET@results/a", "s3://SECRET@results/a", "s3://results/a?SECRET", "s3://results/a?SECRET=1",
		"s3://results/a?X-Amz-Credential=SECRET", "s3://results/a?role=x&role_external_id=SECRET", "s3://results?access_key=SECRET",
		"s3://results/a?endpoint=https://u:SECRET@h", "s3://results/a?endpoint=https://h/?sig=SECRET", "s3://results/a?endpoint=SECRET",
		"gs://results/a?private_key_path=SECRET", "gs://results/a?access_id=SECRET", "azblob://results?sas=SECRET", "azblob://results?sig=SECRET",
		"s3://results/a?region=r&region=SECRET", "s3://results/a?region=", "s3://results/a#SECRET", "s3://results:80/a", "s3:///a", "s3:results",
		"s3://results/a/../b", "s3://results/../b", "s3://results/a//b", "s3://results/./b", "s3://results/a%00b", "s3://results/a%5Cb", "s3://results/a%ffb",
		"s3://results/" + strings.Repeat("long/", 200), "http://results/a", "mem://", "file:///a",
	} {
		a, err := Parse(strings.ReplaceAll(raw, "SECRET", secret))
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", raw, a)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%q) repeats the credential: %v", raw, err)
		}
	}
}
