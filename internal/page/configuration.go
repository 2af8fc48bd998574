package page

// configuration shows nothing without script: it may have secrets, and who has no role for it shall not be refused the page.
var configuration = screen{Name: "configuration", Path: "/configuration", Title: "Configuration", Key: "k"}
