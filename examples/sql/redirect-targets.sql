-- Where do redirects lead, and may the links be changed for good?
SELECT host, regexp_extract(final_url, '^[a-z]+://([^/:?#]+)', 1) AS target, redirect_kind, count(*) AS urls, median(len(redirect_chain)) AS hops
FROM urls
WHERE len(redirect_chain) > 0
GROUP BY ALL
ORDER BY urls DESC, host, target, redirect_kind;
