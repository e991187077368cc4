package coffer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

var ctx = context.Background()

func code(err error) string {
	var refused *Error
	if !errors.As(err, &refused) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d %s", refused.Status, refused.Code)
}

func expect[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// Against a real service, which test/deploy/go-client.test.ts starts.
func TestService(t *testing.T) {
	file := os.Getenv("COFFER_TEST_SETTINGS")
	if file == "" {
		t.Skip("COFFER_TEST_SETTINGS names no service")
	}
	var given struct {
		URL, Token   string
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		MethodID     int    `json:"method_id"`
		OIDC         string `json:"oidc_token"`
	}
	text := must[[]byte](t)(os.ReadFile(file))
	if err := json.Unmarshal(text, &given); err != nil {
		t.Fatal(err)
	}
	c := must[*Client](t)(New(given.URL, Options{Token: given.Token}))
	expect(t, must[Listed](t)(c.Set(ctx, "shop", "go/a@b+c=d", "s3cret one")).Version, 1)
	expect(t, must[Listed](t)(c.Set(ctx, "shop", "go/a@b+c=d", "s3cret two")).Version, 2)
	secret := must[*Secret](t)(c.Get(ctx, "shop", "go/a@b+c=d", 0))
	expect(t, secret.Value(), "s3cret two")
	expect(t, must[*Secret](t)(c.Get(ctx, "shop", "go/a@b+c=d", 1)).Value(), "s3cret one")
	inside := struct{ hidden Secret }{*secret}
	marshalled := must[[]byte](t)(json.Marshal(secret))
	for _, shown := range []string{fmt.Sprint(secret), fmt.Sprintf("%+v %#v %s", secret, *secret, secret), fmt.Sprintf("%+v %#v", inside, &inside), string(marshalled)} {
		if strings.Contains(shown, "s3cret") {
			t.Fatal("a value was printed")
		}
	}
	expect(t, len(must[[]Listed](t)(c.List(ctx, "shop", "go/"))), 1)
	for path, want := range map[string]string{"absent": "404 SECRET_NOT_FOUND", "..": "422 VALIDATION_FAILED", "../../auth/me": "422 VALIDATION_FAILED", "a//b": "422 VALIDATION_FAILED"} {
		_, err := c.Get(ctx, "shop", path, 0)
		expect(t, code(err), want)
	}
	wrong := must[*Client](t)(New(given.URL, Options{Token: "cv_pat_wrong"}))
	_, err := wrong.Get(ctx, "shop", "x", 0)
	expect(t, code(err), "401 INVALID_TOKEN")
	machine := must[*Client](t)(New(given.URL, Options{ClientID: given.ClientID, ClientSecret: given.ClientSecret}))
	expect(t, must[*Secret](t)(machine.Get(ctx, "shop", "db/main", 0)).Value(), "for machines")
	logins := 0
	workload := must[*Client](t)(New(given.URL, Options{Login: Workload(given.MethodID, func() (map[string]any, error) {
		logins++
		return map[string]any{"oidc_token": given.OIDC}, nil
	})}))
	for range 3 {
		expect(t, must[*Secret](t)(workload.Get(ctx, "shop", "db/main", 0)).Value(), "for machines")
	}
	expect(t, logins, 1)
}

type answer struct {
	status  int
	headers map[string]string
	body    string
}

const ok = `{"path":"x","value":"v","version":1,"type":"generic"}`

// scripted gives one answer after the other; status 0 ends the connection.
func scripted(t *testing.T, options Options, answers ...answer) (*Client, *[]*http.Request, *[]time.Duration) {
	requests, waits := &[]*http.Request{}, &[]time.Duration{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, r)
		next := answers[0]
		answers = answers[1:]
		if next.status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name, value := range next.headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(next.status)
		fmt.Fprint(w, next.body)
	}))
	t.Cleanup(server.Close)
	c := must[*Client](t)(New(server.URL, options))
	c.after = func(wait time.Duration) <-chan time.Time {
		*waits = append(*waits, wait)
		return time.After(0)
	}
	return c, requests, waits
}

func TestRepeats(t *testing.T) {
	busy := answer{429, map[string]string{"Retry-After": "7"}, `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"m"}}`}
	endless := answer{503, map[string]string{"Retry-After": "86400"}, `{"error":{"code":"UNAVAILABLE","message":"m"}}`}
	c, requests, waits := scripted(t, Options{Token: "t"}, busy, answer{}, endless, answer{200, nil, ok})
	expect(t, must[Listed](t)(c.Set(ctx, "v", "x", "value")).Version, 1)
	expect(t, (*waits)[0], 7*time.Second)
	// net/http itself repeats what was lost on a connection that was open before.
	expect(t, (*waits)[len(*waits)-1], 30*time.Second)
	for _, request := range *requests {
		expect(t, request.Header.Get("Idempotency-Key"), (*requests)[0].Header.Get("Idempotency-Key"))
	}
	c, requests, _ = scripted(t, Options{Token: "t", Retries: -1}, endless)
	_, err := c.Get(ctx, "v", "x", 0)
	expect(t, code(err), "503 UNAVAILABLE")
	c, requests, _ = scripted(t, Options{Login: Workload(1, func() (map[string]any, error) { return map[string]any{}, nil })}, answer{})
	_, err = c.Get(ctx, "v", "x", 0)
	expect(t, code(err), "0 NO_ANSWER")
	expect(t, len(*requests), 1)
}

func TestRefusesRedirects(t *testing.T) {
	c, requests, _ := scripted(t, Options{Token: "t"}, answer{307, map[string]string{"Location": "/elsewhere"}, ""})
	_, err := c.Get(ctx, "v/../w?x", "a b/c#d", 0)
	expect(t, code(err), "307 REGION_REDIRECT")
	expect(t, len(*requests), 1)
	expect(t, (*requests)[0].URL.EscapedPath(), "/v1/vaults/v%2F..%2Fw%3Fx/secrets/a%20b%2Fc%23d")
}

func TestRenewsAtTwoThirds(t *testing.T) {
	now, logins := time.Unix(1000, 0), 0
	login := func(context.Context, *Client) (string, time.Duration, error) {
		logins++
		return fmt.Sprint("token-", logins), 300 * time.Second, nil
	}
	fine, refused := answer{200, nil, ok}, answer{401, nil, `{"error":{"code":"INVALID_TOKEN","message":"m"}}`}
	c, _, _ := scripted(t, Options{Login: login}, fine, fine, fine, refused, fine, refused, refused)
	c.now = func() time.Time { return now }
	for _, step := range []struct {
		wait   time.Duration
		logins int
	}{{0, 1}, {169 * time.Second, 1}, {31 * time.Second, 2}, {0, 3}} {
		now = now.Add(step.wait)
		must[*Secret](t)(c.Get(ctx, "v", "x", 0))
		expect(t, logins, step.logins)
	}
	_, err := c.Get(ctx, "v", "x", 0)
	expect(t, code(err), "401 INVALID_TOKEN")
	expect(t, logins, 4)
}

func TestRefusesWrongSettings(t *testing.T) {
	for _, address := range []string{"http://coffer.example.com", "ftp://x", "coffer.example.com", "https://u:p@x", "https://x/path", "https://"} {
		if _, err := New(address, Options{Token: "t"}); err == nil {
			t.Fatal(address)
		}
	}
	for _, options := range []Options{{}, {ClientID: "x"}, {Token: "t", ClientID: "c", ClientSecret: "s"}} {
		if _, err := New("https://x", options); err == nil {
			t.Fatal("accepted")
		}
	}
	c := must[*Client](t)(New("https://x", Options{Token: "s3cret\r\nX-Evil: 1", Retries: -1}))
	_, err := c.Get(ctx, "v", "x", 0)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Fatal("a wrong token was sent or shown")
	}
}

func TestEndsListsInCircles(t *testing.T) {
	pages := []answer{}
	for i := range 12 {
		pages = append(pages, answer{200, nil, fmt.Sprintf(`{"secrets":[],"next_cursor":"%c"}`, "abc"[i%3])})
	}
	c, _, _ := scripted(t, Options{Token: "t"}, pages...)
	_, err := c.List(ctx, "v", "")
	expect(t, code(err), "200 UNEXPECTED_ANSWER")
}
