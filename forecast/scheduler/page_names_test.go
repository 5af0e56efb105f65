package scheduler

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// People whom an issuer knows by long names are called by as much of these as tells them apart.
func TestBrief(t *testing.T) {
	const iam, other = "https://iam.example.org/", "https://iam.example.org/realms/b"
	names := brief([]string{"/DC=org/CN=Alice # 1", "carol", iam + "#carol", iam + "#8a7b6c5d-0000-1111-2222-333344445555", iam + "#11112222-aaaa-1111-2222-333344445555",
		iam + "#11112222-bbbb-1111-2222-333344445555", iam + "#same", other + "#same"})
	for whole, want := range map[string]string{
		"/DC=org/CN=Alice # 1": "/DC=org/CN=Alice # 1",
		"carol":                "carol",
		iam + "#carol":         "carol at iam.example.org",
		iam + "#8a7b6c5d-0000-1111-2222-333344445555": "8a7b6c5d… at iam.example.org",
		iam + "#11112222-aaaa-1111-2222-333344445555": "11112222-aaaa-11… at iam.example.org",
		iam + "#11112222-bbbb-1111-2222-333344445555": "11112222-bbbb-11… at iam.example.org",
		iam + "#same":   iam + "#same",
		other + "#same": other + "#same",
	} {
		if names[whole] != want {
			t.Errorf("%s is called %q, want %q", whole, names[whole], want)
		}
	}
}

// The page calls people of an issuer briefly, and tells the whole name to who asks; what was opened stays so when the page is renewed.
func TestPageCallsPeopleBriefly(t *testing.T) {
	const whole = "https://iam.example.org/#8a7b6c5d-0000-1111-2222-333344445555"
	f := newFront(t, func(_ *Config, api *API) {
		api.Door.Tokens = append(api.Door.Tokens, TokenUser{SHA256: HashToken("long"), Subject: whole})
		api.Door.Admins, api.Login = []string{whole}, &Login{Issuer: "https://iam.example.org/"}
	})
	id := f.submit("long", "k", `[ JobName = "one"; Executable = "/bin/true"; ]`).ID
	l := f.led()
	cycle := func() {
		if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	server := httptest.NewServer(f.api.Handler())
	t.Cleanup(server.Close)
	f.api.Login.URL = server.URL
	b := newBrowser(t)
	b.hurry()
	b.signIn(f.api, whole)
	b.do(chromedp.Navigate(server.URL + "/"))
	const short = "8a7b6c5d… at iam.example.org"
	for _, at := range []string{".queue", ".who", "[aria-labelledby=h-budgets]"} {
		b.until(fmt.Sprintf(`document.querySelector("%s summary")?.textContent === %q`, at, short))
	}
	b.do(chromedp.Click(".queue summary"))
	b.until(fmt.Sprintf(`document.querySelector(".queue details[open]").textContent === %q`, short+whole))
	f.submit("long", "k2", `[ JobName = "two"; Executable = "/bin/true"; ]`)
	cycle()
	b.until(`document.querySelectorAll(".queue li").length === 2`)
	b.until(fmt.Sprintf(`document.querySelectorAll("details[open]").length === 1 && document.activeElement.dataset.key === %q`, id))
}
