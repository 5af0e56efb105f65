// Command issuer is the testbed's token issuer: a discovery document and a
// key set over HTTPS on loopback, or the key set alone, and a maker of tokens.
//
//	issuer serve DIR URL CERT KEY
//	issuer token DIR URL SUBJECT LIFETIME
//	issuer keys DIR URL
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"gridbroker/testdata/testbed"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if want := map[string]int{"serve": 5, "token": 5, "keys": 3}; len(args) == 0 || len(args) != want[args[0]] {
		return fmt.Errorf("usage: issuer serve|token DIR URL and two more, or issuer keys DIR URL")
	}
	iss, err := testbed.OpenIssuer(args[1], args[2])
	if err != nil {
		return err
	}
	switch args[0] {
	case "serve":
		return serve(iss, args[3], args[4])
	case "keys":
		return json.NewEncoder(os.Stdout).Encode(iss.Keys())
	}
	life, err := time.ParseDuration(args[4])
	if err != nil {
		return err
	}
	token, err := iss.Token(args[3], life, nil)
	if err == nil {
		_, err = fmt.Println(token)
	}
	return err
}

func serve(iss *testbed.Issuer, cert, key string) error {
	at, err := url.Parse(iss.URL)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", reply(iss.Discovery()))
	mux.HandleFunc("GET /jwks.json", reply(iss.Keys()))
	srv := &http.Server{Addr: "127.0.0.1:" + at.Port(), Handler: mux, ReadTimeout: 30 * time.Second}
	return srv.ListenAndServeTLS(cert, key)
}

func reply(doc any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc) // the client is gone when it fails
	}
}
