"""Write one page that holds the dashboard's front end and answers: it opens without a server and loads nothing."""
