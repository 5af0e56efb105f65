package central

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gridbroker/credential"
	"gridbroker/foreign"
	"gridbroker/plugins"
)

// Whatever a scheduler answers, in whatever way of writing, our token is in nothing that is made of it, and no time of a job is
// less than none.
func FuzzAnswer(f *testing.F) {
	const secret = "opaque-token.of~the+test/1="
	token, err := credential.ParseToken("test", secret)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"jobs":[{"id":"1","plugins":"held","reason":"` + secret + `","booking":{"cluster":"a","from":1,"chance":0.5}}]}`)
	f.Add(`{"title":"\u006f` + secret[1:] + `","detail":""}`)
	f.Add(`{"jobs":[{"id":"1","plugins":"done","started":1,"ended":9e18,"exit_code":7}]} {"x`)
	f.Fuzz(func(t *testing.T, said string) {
		c := &client{tokens: map[string]*credential.Token{"": token}}
		if heavy(foreign.CountValues([]byte(said), heavy)) {
			return
		}
		var out viewList
		if json.Unmarshal(c.redact([]byte(said)), &out) == nil {
			for _, v := range out.Jobs {
				st := v.status(plugins.Handle{})
				if st.WallTime < 0 || strings.Contains(st.Reason+st.Node+st.Native+v.ID, secret) {
					t.Errorf("%+v", st)
				}
			}
		}
		if err := c.verdict("status", &http.Response{StatusCode: http.StatusConflict, Header: http.Header{}}, []byte(said)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
	})
}
