// Package coffer is a client of Coffer, a secrets-management service. It needs the standard library only.
package coffer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const answerBytesMax, waitMax = 64 << 20, 30 * time.Second

// Error is what the service refused, or why it could not be reached (Status 0). It never holds a secret value.
type Error struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	RequestID string          `json:"request_id"`
	Details   json.RawMessage `json:"details"`
	Status    int             `json:"-"`
	retry     time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (status %d, %s)", e.Code, e.Message, e.Status, e.RequestID)
}

// Secret is a secret with its value, which is printed as [redacted]. It is held by a function, because fmt shows fields of every other kind.
type Secret struct {
	Vault, Path, Type string
	Version           int
	value             func() string
}

func (s *Secret) Value() string  { return s.value() }
func (s *Secret) String() string { return "[redacted]" }

// Listed is a secret as a list shows it, or as it was stored: without its value.
type Listed struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// Login is a way to get a token that ends. It is called when two thirds of the life of the last one are over.
type Login func(ctx context.Context, c *Client) (token string, life time.Duration, err error)

// Options of a client. Give one of Token, ClientID with ClientSecret, and Login.
type Options struct {
	Token, ClientID, ClientSecret string
	Login                         Login
	// HTTP replaces the client for requests, for a private root or a client certificate. Its redirects are not used.
	HTTP *http.Client
	// Retries is how often a request is repeated after a lost connection, 429 or 503: 3 if 0, and never if negative.
	Retries int
}

// Client of one service. It may be shared by goroutines.
type Client struct {
	base    *url.URL
	options Options
	retries int
	http    http.Client
	after   func(time.Duration) <-chan time.Time
	now     func() time.Time
	mutex   sync.Mutex
	token   string
	renewAt time.Time
}

// New makes a client. The URL must be https; plain http is for this machine only.
func New(address string, options Options) (*Client, error) {
	isToken, isClient, isLogin := options.Token != "", options.ClientID != "" && options.ClientSecret != "", options.Login != nil
	if isToken && (isClient || isLogin) || isClient && isLogin || !isToken && !isClient && !isLogin {
		return nil, errors.New("coffer: give one of Token, ClientID with ClientSecret, and Login")
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" || strings.Trim(base.Path, "/") != "" {
		return nil, errors.New("coffer: the URL must have a host and no user, path or query, as https://coffer.example.com")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, base.Hostname())) {
		return nil, errors.New("coffer: the URL must begin with https://; http:// is for this machine only")
	}
	c := &Client{base: base, options: options, retries: cmp.Or(options.Retries, 3), http: http.Client{Timeout: 30 * time.Second}, now: time.Now, after: time.After}
	if options.HTTP != nil {
		c.http = *options.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Workload logs in by workload identity; credentials returns what the method takes, such as {"k8s_token": …}.
func Workload(methodID int, credentials func() (map[string]any, error)) Login {
	return func(ctx context.Context, c *Client) (string, time.Duration, error) {
		body, err := credentials()
		if err != nil {
			return "", 0, err
		}
		body["method_id"] = methodID
		var answer struct {
			Token   string    `json:"cv_jwt"`
			Expires time.Time `json:"expires_at"`
		}
		at, err := c.repeated(ctx, "POST", "/workload-identity/login", http.Header{}, body, &answer, false)
		return answer.Token, answer.Expires.Sub(at), err
	}
}

// Get reads a secret; version 0 is the newest.
func (c *Client) Get(ctx context.Context, vault, path string, version int) (*Secret, error) {
	var answer struct {
		Listed
		Value string `json:"value"`
	}
	query := url.Values{}
	if version != 0 {
		query.Set("version", strconv.Itoa(version))
	}
	if err := c.call(ctx, "GET", c.address(query, vault, path), nil, &answer); err != nil {
		return nil, err
	}
	value := answer.Value
	return &Secret{vault, answer.Path, answer.Type, answer.Version, func() string { return value }}, nil
}

// More than any list has: a service that goes on beyond would fill the memory.
const (
	pagesMax = 1_000_000
	itemsMax = 1_000_000
)

// List returns what the caller may see of a vault below a prefix.
func (c *Client) List(ctx context.Context, vault, prefix string) (all []Listed, err error) {
	query := url.Values{"limit": {"500"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	former := ""
	for number := 1; ; number++ {
		var page struct {
			Secrets []Listed `json:"secrets"`
			Next    *string  `json:"next_cursor"`
		}
		if err := c.call(ctx, "GET", c.address(query, vault), nil, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Secrets...); page.Next == nil {
			return all, nil
		}
		if *page.Next == former || len(all) > itemsMax || number >= pagesMax {
			return nil, &Error{Code: "UNEXPECTED_ANSWER", Message: "The service repeats a page of a list, or the list does not end.", Status: 200}
		}
		// Replaced after twice as many pages each time, so that a circle of any length is noticed.
		if number&(number-1) == 0 {
			former = *page.Next
		}
		query.Set("cursor", *page.Next)
	}
}

// Set stores a value as a new version, and creates the secret if there is none.
func (c *Client) Set(ctx context.Context, vault, path, value string) (stored Listed, err error) {
	for range 3 {
		err = c.call(ctx, "PUT", c.address(nil, vault, path), map[string]any{"value": value}, &stored)
		if !isCode(err, "SECRET_NOT_FOUND") {
			return stored, err
		}
		err = c.call(ctx, "POST", c.address(nil, vault), map[string]any{"path": path, "value": value}, &stored)
		if !isCode(err, "SECRET_ALREADY_EXISTS") {
			return stored, err
		}
	}
	return stored, err
}

func isCode(err error, code string) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == code
}

// Names are escaped as one segment each, so that none can leave its place; a dot segment stays as it is, and the service refuses it.
func (c *Client) address(query url.Values, names ...string) string {
	path := "/v1/vaults/" + url.PathEscape(names[0]) + "/secrets"
	for _, name := range names[1:] {
		path += "/" + url.PathEscape(name)
	}
	return path + "?" + query.Encode()
}

func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	header := http.Header{}
	if method != "GET" {
		header.Set("Idempotency-Key", rand.Text())
	}
	for attempt := 0; ; attempt++ {
		if err := c.authorize(ctx, header); err != nil {
			return err
		}
		_, err := c.repeated(ctx, method, path, header, body, answer, true)
		var refused *Error
		if c.options.Login == nil || attempt > 0 || !errors.As(err, &refused) || refused.Status != 401 {
			return err
		}
		c.mutex.Lock()
		c.token = ""
		c.mutex.Unlock()
	}
}

func (c *Client) authorize(ctx context.Context, header http.Header) error {
	if c.options.ClientID != "" {
		header.Set("X-Client-Id", c.options.ClientID)
		header.Set("X-Client-Secret", c.options.ClientSecret)
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.options.Login == nil {
		c.token = c.options.Token
	} else if c.token == "" || !c.now().Before(c.renewAt) {
		token, life, err := c.options.Login(ctx, c)
		if err != nil {
			return err
		}
		c.token, c.renewAt = token, c.now().Add(time.Duration(float64(life)*(2.0/3-mathrand.Float64()/10)))
	}
	header.Set("Authorization", "Bearer "+c.token)
	return nil
}

// An exchange of credentials (isSafe false) is repeated only if the service said that it did nothing.
func (c *Client) repeated(ctx context.Context, method, path string, header http.Header, body, answer any, isSafe bool) (time.Time, error) {
	for attempt := 0; ; attempt++ {
		at, err := c.once(ctx, method, path, header, body, answer)
		var refused *Error
		isRepeated := errors.As(err, &refused) && (refused.Status == 429 || refused.Status == 503 || refused.Code == "NO_ANSWER" && isSafe)
		if !isRepeated || attempt >= c.retries || ctx.Err() != nil {
			return at, err
		}
		wait := refused.retry
		if wait == 0 {
			wait = time.Duration(float64(250*time.Millisecond<<attempt) * (0.5 + mathrand.Float64()))
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-c.after(min(wait, waitMax)):
		}
	}
}

// A redirect is not followed: it would take the credentials to where nobody said they may go.
func (c *Client) once(ctx context.Context, method, path string, header http.Header, body, answer any) (time.Time, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return time.Time{}, err
	}
	if body == nil {
		data = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base.Scheme+"://"+c.base.Host+path, bytes.NewReader(data))
	if err != nil {
		return time.Time{}, err
	}
	request.Header = header.Clone()
	request.Header.Set("User-Agent", "coffer-go/0.5.0")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return time.Time{}, &Error{Code: "NO_ANSWER", Message: c.base.Host + " cannot be reached: " + errors.Unwrap(err).Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return time.Time{}, &Error{Code: "NO_ANSWER", Message: c.base.Host + " did not send its whole answer"}
	}
	at, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	if response.StatusCode < 300 {
		if json.Unmarshal(text, answer) != nil {
			return at, &Error{Code: "UNEXPECTED_ANSWER", Message: "The answer is not what was asked for.", Status: response.StatusCode}
		}
		return at, nil
	}
	if response.StatusCode < 400 {
		return at, &Error{Code: "REGION_REDIRECT", Message: "The service redirects: make a client with the URL of the tenant's region.", Status: response.StatusCode}
	}
	var refused struct{ Error Error }
	if json.Unmarshal(text, &refused) != nil || refused.Error.Code == "" {
		refused.Error = Error{Code: "UNEXPECTED_ANSWER", Message: "The service refused without a reason."}
	}
	refused.Error.Status = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		refused.Error.retry = time.Duration(seconds) * time.Second
	}
	return at, &refused.Error
}
