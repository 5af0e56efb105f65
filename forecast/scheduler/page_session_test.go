package scheduler

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// signIn gives the browser the cookie of somebody who has signed in.
func (b *browser) signIn(a *API, subject string) {
	b.t.Helper()
	text, err := json.Marshal(session{subject, a.S.now().Add(time.Hour).Unix()})
	if err != nil {
		b.t.Fatal(err)
	}
	value := base64.RawURLEncoding.EncodeToString(a.S.store.seal.Close(sessionCookie, text))
	if _, err := chromedp.Call(b.ctx, protocol.SetCookie, protocol.SetCookieParams{Name: sessionCookie, Value: value, URL: a.Login.URL}); err != nil {
		b.t.Fatal(err)
	}
}

// hurry lets pages renew themselves thirty times as often.
func (b *browser) hurry() {
	b.t.Helper()
	script := `{ const wait = setInterval; window.setInterval = (f, ms) => wait(f, ms / 30); }`
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatal(err)
	}
}

// A page that is left open tells when he who had signed in is not any more, and how to sign in again: it has said that
// the scheduler does not answer, and where strangers see a part, shown that under his name.
func TestPageTellsThatASessionIsOver(t *testing.T) {
	d := newDay(t, 1, 6, 1, 6*time.Hour)
	b := newBrowser(t)
	b.hurry()
	for _, public := range []bool{false, true} {
		api := &API{S: d.s, Door: &Door{}, Log: slog.New(slog.DiscardHandler), Public: public, Rate: 1e6, Login: &Login{Issuer: "https://issuer.example.org"}}
		server := httptest.NewServer(api.Handler())
		api.Login.URL = server.URL
		b.signIn(api, "carol")
		b.do(chromedp.Navigate(server.URL + "/"))
		b.until(`document.querySelector(".who").textContent === "carol · sign out"`)
		b.until(`fetch("/logout").then(() => true)`) // as another page of this browser does
		b.until(`document.readyState === "complete" && !document.body.textContent.includes("carol") && document.querySelector("a[href='/login']") !== null`)
		b.do(chromedp.Navigate("about:blank"))
		server.Close()
	}
}
